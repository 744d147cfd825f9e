"""`make reference`: write every page anew; ``--check`` only compares."""

import sys
from pathlib import Path

from reference.pages import differing, write

DOCS = Path(__file__).parents[1] / "docs"


def main() -> int:
    """Exit code: 0 in order, 1 differing pages (with ``--check``)."""
    if "--check" not in sys.argv[1:]:
        for path in write(DOCS):
            sys.stdout.write(f"written: {path}\n")
        return 0
    stale = differing(DOCS)
    for path in stale:
        sys.stdout.write(f"differs from the code: {path} (make reference)\n")
    return 1 if stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
