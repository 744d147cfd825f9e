"""Bytes a server may still send: granted with each request, used up by whatever arrives."""


class TooMuch(Exception):
    """A server sent more than it was asked for."""


class Allowance:
    """An account of bytes; what is not used is not saved up beyond `most`."""

    def __init__(self, most: int):
        self._most = most
        self._left = 0

    def grant(self, size: int) -> None:
        """Let the server send `size` bytes more."""
        self._left = min(self._left + size, self._most)

    def take(self, size: int) -> None:
        """Count bytes that arrived. Raises `TooMuch` when they were not granted."""
        self._left -= size
        if self._left < 0:
            raise TooMuch
