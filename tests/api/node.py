"""Clients that are written in JavaScript: installed into a folder of the test run, driven as their users drive them."""

import asyncio
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

PACKAGES = ("ai@6.0.326", "@ag-ui/client@1.0.0")
INSTALL_SECONDS, RUN_SECONDS = 90, 60


async def installed(folder: Path, *packages: str) -> Path:
    """A folder with `packages`, or `PACKAGES`, in it; skips where that cannot be."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("no Node on this machine: install node and npm to drive the JavaScript clients")
    (folder / "package.json").write_text('{"private": true, "type": "module"}', "utf-8")
    options = ("--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline", "--no-package-lock")
    try:
        await _run("npm", "install", *options, *(packages or PACKAGES), folder=folder, seconds=INSTALL_SECONDS)
    except (RuntimeError, TimeoutError) as failure:
        pytest.skip(f"the JavaScript clients cannot be installed here: {str(failure)[:200]}")
    return folder


async def told_by(folder: Path, script: str, **given: str) -> Any:
    """What a module prints as JSON in its last line; `given` are its environment."""
    (folder / "driven.mjs").write_text(script, "utf-8")
    printed = await _run("node", "driven.mjs", folder=folder, seconds=RUN_SECONDS, given=given)
    return json.loads(printed.strip().splitlines()[-1])


async def started(folder: Path, script: str, given: dict[str, str]) -> asyncio.subprocess.Process:
    """A module that goes on running, with its output to read; whoever asks ends it."""
    return await asyncio.create_subprocess_exec(
        "node", script, cwd=folder, env={**os.environ, **given},
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip


async def _run(*command: str, folder: Path, seconds: float, given: dict[str, str] | None = None) -> str:
    process = await asyncio.create_subprocess_exec(
        *command, cwd=folder, env={**os.environ, **(given or {})},
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        async with asyncio.timeout(seconds):
            out, err = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        raise
    if process.returncode:
        raise RuntimeError(err.decode(errors="replace"))
    return out.decode()
