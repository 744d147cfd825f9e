"""Lets the service try again ten times sooner, its own database never wait for the disk, and all HTTP clients share the
machine's certificates.

What fails on purpose here is well again at once, what is stored dies with the tests, and reading all certificates takes
longer than most of what a client is made for.
"""

import ssl
from functools import cache
from types import ModuleType
from typing import Any

import httpx._transports.default
import httpx2._transports.default

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
    for library in (httpx._transports.default, httpx2._transports.default):
        _read_certificates_once(library)
    start_embedded.__kwdefaults__ = {"durable": False}


def _read_certificates_once(library: ModuleType) -> None:
    read = library.create_ssl_context
    plain = cache(read)

    def context(verify: Any = True, cert: Any = None, trust_env: bool = True) -> ssl.SSLContext:
        wanted = {"verify": verify, "cert": cert, "trust_env": trust_env}
        made: ssl.SSLContext = plain(**wanted) if verify is True and cert is None else read(**wanted)
        return made

    vars(library)["create_ssl_context"] = context
