"""A sample plug-in, installed the way pip installs a package: a module, and a folder that names its entry points."""

import sys
from pathlib import Path

import pytest


def install(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *, module: str, source: str, entry_points: dict[str, str]
) -> None:
    """Install a package of one module; `entry_points` are ``group`` to ``name = module:object``."""
    (folder / f"{module}.py").write_text(source, "utf-8")
    info = folder / f"{module}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n", "utf-8")
    groups = "".join(f"[{group}]\n{line}\n" for group, line in entry_points.items())
    (info / "entry_points.txt").write_text(groups, "utf-8")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, module, raising=False)
