"""Data folders that need not make again what another test has made: the model's files, the vectors of fixed texts, and
the seeded database.

All are named by what is in them, so a folder that has them from an earlier process is like one that made its own.
`--cache-clear` makes all of them anew, as a fresh machine does.
"""

import asyncio
import fcntl
import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path

from app.main import Services
from app.settings import Settings
from app.storage.embedded import start_embedded
from tests.quick import KEPT

_ROOT = Path(__file__).resolve().parents[1]
PARTS = ("models", "vectors")
_MAKES_ROWS = ("migrations", "app/ingestion", "app/storage", "app/retrieval", "app/embedding", "app/text", "app/main")
"""What decides, besides the seed folder, what stands in a seeded database."""
_MOST_CLUSTERS = 6


def warm(data_dir: Path) -> Path:
    """The folder, made, with the parts that all tests share."""
    data_dir.mkdir(parents=True, exist_ok=True)
    for part in PARTS:
        shared = KEPT / part
        shared.mkdir(parents=True, exist_ok=True)
        if not (data_dir / part).exists():
            (data_dir / part).symlink_to(shared, target_is_directory=True)
    return data_dir


async def planted(data_dir: Path, seed_dir: Path) -> Path:
    """The folder, warm, with a copy of a cluster in which `seed_dir` was brought in once; nobody runs on it yet."""
    clusters = KEPT / "clusters"
    clusters.mkdir(parents=True, exist_ok=True)
    template = clusters / _key_of(seed_dir)
    with (clusters / ".lock").open("wb") as lock:
        await asyncio.to_thread(fcntl.flock, lock, fcntl.LOCK_EX)
        if not template.exists():
            await _make_cluster(template, seed_dir)
        warm(data_dir)
        await asyncio.to_thread(_copy, template, data_dir / "postgres")
    return data_dir


async def _make_cluster(template: Path, seed_dir: Path) -> None:
    for old in sorted(template.parent.glob("*/"), key=lambda path: path.stat().st_mtime)[: 1 - _MOST_CLUSTERS]:
        shutil.rmtree(old)
    folder = Path(tempfile.mkdtemp(prefix="conclave-seed-"))  # a short path: the server's socket lies in it
    try:
        server = await asyncio.to_thread(start_embedded, folder)
        services = await Services.open(Settings(_env_file=None, data_dir=warm(folder), seed_dir=seed_dir), work=False)
        await services.aclose()
        server.durable = True  # it ends in order: nothing is left to replay
        await asyncio.to_thread(server.stop)
        draft = template.with_suffix(".new")
        shutil.rmtree(draft, ignore_errors=True)
        await asyncio.to_thread(shutil.move, folder / "postgres", draft)
        draft.rename(template)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _copy(source: Path, target: Path) -> None:
    """With owners: the server may run as a user of its own."""
    subprocess.run(("cp", "-a", str(source), str(target)), check=True)


def _key_of(seed_dir: Path) -> str:
    digest = hashlib.sha256()
    for base in (seed_dir, *(_ROOT / part for part in _MAKES_ROWS)):
        for path in sorted(path for path in base.rglob("*") if path.is_file() and path.suffix != ".pyc"):
            digest.update(f"{path.relative_to(base)}\n".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:24]
