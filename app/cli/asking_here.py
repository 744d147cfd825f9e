"""Asking in this process."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from rich.console import Console

from app.api.runs import start_run
from app.api.schemas import ChatBody
from app.api.sse import frame
from app.cli.output import opened
from app.cli.reading import content_of
from app.client.connection import Told
from app.main import Services
from app.settings import Settings
from app.tasks.approvals import Decision


@dataclass(frozen=True)
class LocalLine:
    """Asks in this process: the task is registered, queued and run like any other."""

    services: Services
    user: str

    async def attach(self, path: Path) -> str:
        """Read the file here and keep what it says, as a server would."""
        attachments = self.services.rooms.attachments
        principal = (await self.services.claims_of(self.user)).principal()
        content = await asyncio.to_thread(content_of, path, attachments.limits.max_bytes)
        return str((await attachments.bring_in(principal, content, path.name)).file_id)

    async def ask(self, body: Mapping[str, Any]) -> AsyncIterator[Told]:
        """The run's events."""
        rooms = self.services.rooms
        principal = (await self.services.claims_of(self.user)).principal()
        run = await start_run(rooms, principal, ChatBody.model_validate(body), None)
        async for entry in rooms.journal.follow(run.principal, run.task_id):
            yield entry.seq, entry.event.type, json.loads(str(frame(entry).data))

    async def decide(self, task_id: str, decision: Mapping[str, Any]) -> None:
        """Put the decision into the database; the worker of this process goes on."""
        principal = (await self.services.claims_of(self.user)).principal()
        await self.services.rooms.approvals.decide(principal, UUID(task_id), Decision.model_validate(decision))


@asynccontextmanager
async def open_local(user: str, settings: Settings, console: Console) -> AsyncIterator[LocalLine]:
    """A line to the services of this process, opened with their worker."""
    async with opened(settings, console, work=True) as services:
        yield LocalLine(services, user)
