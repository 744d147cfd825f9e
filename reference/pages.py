"""Which files are made, and from what."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

from reference import agents, commands, drawn, errors, events, http, settings, shapes

_TEXTS: dict[str, Callable[[], str]] = {
    "reference/settings.md": settings.page,
    "reference/cli.md": commands.page,
    "reference/http-api.md": http.page,
    "reference/http-shapes.md": shapes.page,
    "reference/events.md": events.page,
    "reference/errors.md": errors.page,
    "reference/agent-files.md": agents.page,
    **{f"pictures/{name}.svg": picture for name, picture in drawn.PICTURES.items()},
}


@cache
def written(name: str) -> str:
    """What a file says; `name` is its path below `docs`."""
    return _TEXTS[name]().rstrip() + "\n"


def names() -> list[str]:
    """Every file that is made."""
    return list(_TEXTS)


def write(docs: Path) -> list[Path]:
    """Write the files that differ; the paths that were written."""
    stale = differing(docs)
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(written(path.relative_to(docs).as_posix()), "utf-8")
    return stale


def differing(docs: Path) -> list[Path]:
    """Files that are missing or say something else than the code."""
    return [path for name in names() if _read(path := docs / name) != written(name)]


def _read(path: Path) -> str | None:
    return path.read_text("utf-8") if path.exists() else None
