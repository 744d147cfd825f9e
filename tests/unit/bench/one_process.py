"""Runs benches in a process of their own that imports, opens the model and starts a server once for all of them."""

import asyncio
import contextlib
import io
import os
import runpy
import shutil
import sys
import tempfile
import traceback
from collections.abc import Sequence
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any, NamedTuple

from app.embedding.onnx import OnnxEmbedder
from app.storage import embedded
from app.storage.migrate import upgrade
from tests.databases import create_database
from tests.quick import KEPT
from tests.vectors import remember_vectors

APART = "conclave-outage-"
"""The data folder of the bench that stops its server."""


class Outcome(NamedTuple):
    """How a bench ended and what it printed."""

    code: int
    """As a process would have ended."""
    printed: str
    error: str
    """The traceback; empty where it came to its end."""


class OwnDatabase(embedded.EmbeddedServer):
    """A migrated database on the shared server, in place of a server of its own; `stop` leaves it running."""

    def __init__(self, server: embedded.EmbeddedServer, name: str):
        super().__init__(server.data_dir, server.socket_dir, server.durable, server._account, server._share)
        self._name = name
        create_database(server, name, embedded.DATABASE)

    def url(self, role: str, database: str = embedded.DATABASE) -> str:
        return super().url(role, self._name if database == embedded.DATABASE else database)

    def stop(self) -> None:
        pass


def prepare(data_dir: str) -> None:
    """Start a process for `run`: whatever its benches open is opened once, and what they keep unless told otherwise is
    kept in `data_dir`. Done before one of them is imported."""
    os.environ["COLUMNS"] = "160"
    os.environ["CONCLAVE_DATA_DIR"] = data_dir
    remember_vectors(KEPT / "texts")
    _share_model()
    _share_server()


def _share_model() -> None:
    open_model = OnnxEmbedder.open
    opened: dict[Path, OnnxEmbedder] = {}

    def open_once(folder: Path, *_: Any, **__: Any) -> OnnxEmbedder:
        place = folder.resolve()
        opened[place] = opened.get(place) or open_model(folder, threads=1)
        return opened[place]

    async def stay_open(_: OnnxEmbedder) -> None:
        await asyncio.sleep(0)

    setattr(OnnxEmbedder, "open", staticmethod(open_once))  # noqa: B010  # mypy lets no method be replaced
    setattr(OnnxEmbedder, "aclose", stay_open)  # noqa: B010


def _share_server() -> None:
    start = embedded.start_embedded
    folder = Path(tempfile.mkdtemp(prefix="conclave-benches-"))  # a short path: the server's socket lies in it
    server = start(folder, durable=False)
    upgrade(server.owner_url)
    databases: dict[Path, embedded.EmbeddedServer] = {}

    def start_shared(data_dir: Path, *, durable: bool = True) -> embedded.EmbeddedServer:
        if data_dir.name.startswith(APART):
            return start(data_dir, durable=durable)
        if data_dir not in databases:
            (data_dir / "postgres").mkdir(exist_ok=True)  # what was planted is marked in it
            databases[data_dir] = OwnDatabase(server, f"bench_{len(databases)}")
        return databases[data_dir]

    def stop() -> None:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)

    vars(embedded)["start_embedded"] = start_shared
    Finalize(None, stop, exitpriority=1)  # a process of a pool runs no atexit


def run(module: str, arguments: Sequence[str]) -> Outcome:
    """Run one to its end, as ``python -m`` does."""
    printed, before = io.StringIO(), sys.argv
    sys.argv = [module, *arguments]
    sys.modules.pop(module, None)  # another bench may have imported it
    try:
        with contextlib.redirect_stdout(printed):
            runpy.run_module(module, run_name="__main__")
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        return Outcome(code, printed.getvalue(), "")
    except BaseException:
        return Outcome(1, printed.getvalue(), traceback.format_exc())
    finally:
        sys.argv = before
    return Outcome(0, printed.getvalue(), "")
