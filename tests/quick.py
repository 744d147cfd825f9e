"""Lets the service try again ten times sooner, and its own database never wait for the disk: what fails on purpose here
is well again at once, and what is stored dies with the tests."""

from app.agents import run
from app.journal import writer
from app.reasoning.llm import ladder
from app.storage import notifications
from app.storage.embedded import start_embedded

_SHORTER = 10
_WAITS = (
    (ladder, "_PAUSE_SECONDS"),
    (run, "_BACKOFF_SECONDS"),
    (writer, "_RETRY_SECONDS"),
    (notifications, "_RETRY_SECONDS"),
)


def be_quick() -> None:
    """In this process, and in those forked from it."""
    for module, name in _WAITS:
        setattr(module, name, getattr(module, name) / _SHORTER)
    start_embedded.__kwdefaults__ = {"durable": False}
