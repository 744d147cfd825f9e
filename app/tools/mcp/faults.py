"""Why a connection ended: noted by whoever sees it first, told by whoever has to raise."""

import asyncio
from enum import StrEnum


class Fault(StrEnum):
    """What a server did, or what was done to it."""

    ENDED = "ended"
    """The process is gone, or the connection."""
    UNREACHABLE = "unreachable"
    TOO_MUCH = "too_much"
    NOT_MCP = "not_mcp"
    SLOW_START = "slow_start"
    CHANGED = "changed"
    """Its tool list is not the approved one."""
    UNUSABLE_LIST = "unusable_list"
    """Too many tools, a name twice, a page without end."""
    REFUSED = "refused"
    """It cannot be used as it is configured."""
    CLOSED = "closed"
    """By us: idle, or the service stops."""


class Faults:
    """What is known of the end of one connection."""

    def __init__(self) -> None:
        self.first: Fault | None = None
        self.noted = asyncio.Event()
        self.detail = ""
        """For operators; may quote the server, cleaned and cut."""
        self.last_words = ""
        """The end of what its process wrote to standard error, cleaned; for operators."""
        self.stderr_bytes = 0

    def note(self, fault: Fault, detail: str = "") -> None:
        """Keep the first fault; those that follow come from it."""
        if self.first is None:
            self.first, self.detail = fault, detail
            self.noted.set()
