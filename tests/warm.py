"""Data folders that need not make the model's files and the vectors of fixed texts again.

Both are named by what is in them, so a folder that has them from an earlier process is like one that made its own.
`--cache-clear` makes all of them anew, as a fresh machine does.
"""

from pathlib import Path

_KEPT = Path(__file__).resolve().parents[1] / ".pytest_cache" / "d" / "kept"
PARTS = ("models", "vectors")


def warm(data_dir: Path) -> Path:
    """The folder, made, with the parts that all tests share."""
    data_dir.mkdir(parents=True, exist_ok=True)
    for part in PARTS:
        shared = _KEPT / part
        shared.mkdir(parents=True, exist_ok=True)
        if not (data_dir / part).exists():
            (data_dir / part).symlink_to(shared, target_is_directory=True)
    return data_dir
