"""One embedded PostgreSQL for the whole run, and a fresh, migrated database for every module that asks for one."""

import gc
import heapq
import os
import shutil
import tempfile
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
import structlog
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]  # it brings none

from app.domain.principal import Principal
from app.embedding.cached import CachedEmbedder
from app.embedding.onnx import OnnxEmbedder
from app.reasoning.local import LocalReasoner
from app.storage.database import Database
from app.storage.embedded import EmbeddedServer, start_embedded
from app.storage.migrate import upgrade
from tests import factories
from tests.databases import create_database
from tests.nursery import Nursery, open_nursery
from tests.quick import KEPT, be_quick
from tests.samples import TOLD, size
from tests.vectors import computed, loaded, read_alone, remember_vectors, share_model
from tests.warm import warm

# CI judges a change by the same examples every time; other runs look for new ones and print what repeats them.
# How long an example takes says nothing where several processes share the cores.
settings.register_profile(
    "run", max_examples=size(30, 100), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("ci", settings.get_profile("run"), derandomize=True)
settings.register_profile("fast", max_examples=10)
settings.load_profile("ci" if os.environ.get("CI") else "run")
remember_vectors(KEPT / "texts")
share_model()
be_quick()


def log_plainly() -> None:
    """Show errors that are logged as Python does: structlog's own way shows every variable of every frame too, which
    takes seconds where one of them is a house."""
    plain = structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)
    structlog.configure(processors=[*structlog.get_config()["processors"][:-1], plain])


log_plainly()
_SHARED = ("acceptance", "api", "browser", "chaos")
"""Folders whose tests share a house that takes long to build."""
_LONG = (
    "tests/unit/bench/test_benches.py",
    "tests/postgres/test_large_tenants.py",
    "tests/postgres/test_document_kills.py",
    "tests/unit/ingestion/parsing/test_hostile_files.py",
    "tests/conformance/test_mcp_servers.py",
    "tests/unit/tools/test_mcp_hostile.py",
    "tests/extras/python/test_python_hostile.py",
    "tests/conformance/test_llama_deep_reasoner.py",
    "tests/conformance/test_llama_reasoner.py",
    "tests/unit/embedding/test_onnx_files.py",
    "tests/postgres/test_rights_machine.py",
    "tests/conformance/test_embedders.py",
    "tests/conformance/test_deep_reasoners.py",
    "tests/conformance/test_model_faults.py",
    "tests/conformance/test_deep_model_faults.py",
    "tests/conformance/test_model_server_faults.py",
    "tests/postgres/test_documents.py",
    "tests/postgres/test_folder_sync.py",
    "tests/postgres/test_embedded.py",
    "tests/docs/test_commands.py",
    "tests/unit/cli/test_commands.py",
    "tests/unit/ingestion/parsing/test_sandbox.py",
)
"""Other files that compute or wait for ten seconds and more. They go out before the short ones: whoever is ready last
is then ready soon after the others."""
_TEMPLATE = "conclave_template"
_LONGEST_FILES = 40
_numbers = count(1)


class ByHouse(LoadScopeScheduling):  # type: ignore[misc]  # for the same reason
    """Gives tests that share a house to one process, and of all others a file at a time, in the order of `_turn`.

    (The marks of pytest-xdist for groups do nothing under pytest 9.2: it keeps the name of a test where the plugin does
    not write it.)
    """

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        folder = file.split("/")[1]
        return folder if folder in _SHARED else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> ByHouse | None:
    """What ``--dist loadgroup`` means here."""
    if config.getvalue("dist") != "loadgroup":
        return None
    config.option.loadscopereorder = False
    return ByHouse(config, log)


def _turn(item: pytest.Item) -> int:
    """Folders that share a house come first, then the long files, then all others in the order of their names."""
    file = item.nodeid.partition("::")[0]
    if file.split("/")[1] in _SHARED:
        return -1
    return _LONG.index(file) if file in _LONG else len(_LONG)


class LongRun:
    """Names what fails when it fails: a run that is cut short has then said why. At the end it tells which files took
    longest."""

    def __init__(self, config: pytest.Config):
        self._config = config
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[report.nodeid.partition("::")[0]] += report.duration
        terminal = self._config.pluginmanager.getplugin("terminalreporter")
        if report.failed and terminal is not None:
            terminal.write_line(f"failed: {report.nodeid}")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("seconds by file")
        for seconds, file in heapq.nlargest(_LONGEST_FILES, ((taken, file) for file, taken in self._seconds.items())):
            terminalreporter.write_line(f"{seconds:6.0f} {file}")


_NEEDS_TIME = {"embedded_server", "bundled", "nursery"}
"""Fixtures that start a database or processes, or load the model."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fast", action="store_true", help="only what needs no service, no model and no process")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the longest first. With `--fast`, leave out what is marked slow or stands on a slow fixture."""
    items.sort(key=_turn)
    if not config.getoption("--fast"):
        return
    slow = [
        item for item in items if item.get_closest_marker("slow") or _NEEDS_TIME & {*getattr(item, "fixturenames", ())}
    ]
    config.hook.pytest_deselected(items=slow)
    left_out = {id(item) for item in slow}
    items[:] = [item for item in items if id(item) not in left_out]


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--fast"):
        settings.load_profile("fast")
    if config.getoption("numprocesses", None):
        config.pluginmanager.register(LongRun(config))


def pytest_collection_finish() -> None:
    """Leave what stands until the end (thousands of tests, all modules) out of every later garbage collection."""
    gc.collect()
    gc.freeze()


def pytest_report_header() -> str:
    return TOLD


@pytest.fixture(scope="session")
def embedded_server() -> Iterator[EmbeddedServer]:
    """The server; its data directory has a short path and is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="conclave-test-"))
    server = start_embedded(folder, durable=False)
    try:
        create_database(server, _TEMPLATE)
        upgrade(server.url("conclave_owner", _TEMPLATE))
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def database_name(embedded_server: EmbeddedServer) -> str:
    """A fresh database with every table and no row."""
    name = f"test_{next(_numbers)}"
    create_database(embedded_server, name, _TEMPLATE)
    return name


@pytest.fixture(scope="module")
def owner_url(embedded_server: EmbeddedServer, database_name: str) -> str:
    return embedded_server.url("conclave_owner", database_name)


@pytest.fixture(scope="module")
def app_url(embedded_server: EmbeddedServer, database_name: str) -> str:
    return embedded_server.url("conclave_app", database_name)


@pytest.fixture(scope="module")
def maintenance_url(embedded_server: EmbeddedServer, database_name: str) -> str:
    return embedded_server.url("conclave_maintenance", database_name)


@pytest.fixture(scope="module")
def superuser_url(embedded_server: EmbeddedServer, database_name: str) -> str:
    return embedded_server.url("postgres", database_name)


@pytest.fixture(scope="module")
async def database(app_url: str) -> AsyncIterator[Database]:
    """The module's database through the app role."""
    opened = await Database.connect(app_url)
    yield opened
    await opened.dispose()


@pytest.fixture(scope="session")
async def nursery() -> AsyncIterator[Nursery]:
    """Where processes of the service come from; all its modules are imported once."""
    async with open_nursery() as opened:
        yield opened


@pytest.fixture
def principal_factory() -> Callable[..., Principal]:
    return factories.principal


@pytest.fixture(scope="session")
async def bundled(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[OnnxEmbedder]:
    """The bundled model; its file is built once for all runs."""
    made = OnnxEmbedder.open(warm(tmp_path_factory.mktemp("bundled")) / "models")
    yield made
    await made.aclose()


@pytest.fixture(scope="module")
def nothing_remembered() -> Iterator[None]:
    """Every vector is computed, also one that an earlier test asked for, by a model that is loaded anew."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(OnnxEmbedder, "_vector", computed)
        patched.setattr(OnnxEmbedder, "_read", read_alone)
        patched.setattr(OnnxEmbedder, "_load", staticmethod(loaded))
        yield


@pytest.fixture(scope="session")
def embedder(bundled: OnnxEmbedder) -> CachedEmbedder:
    return CachedEmbedder(bundled)


@pytest.fixture(scope="session")
def reasoner(embedder: CachedEmbedder, tmp_path_factory: pytest.TempPathFactory) -> LocalReasoner:
    return LocalReasoner(embedder, warm(tmp_path_factory.mktemp("reasoner")) / "vectors")
