"""`python -m bench.seed_questions`: write the question sets beside the demo documents as datasets.

``bench/sets/seed.jsonl`` holds all of them, ``smoke.jsonl`` those that ``smoke.txt`` names. A test holds them to it.
"""

import json
import re
from pathlib import Path
from typing import Any

from app.ingestion.seed import read_seed

ROOT = Path(__file__).parents[1]
SETS = ROOT / "bench" / "sets"
_BETWEEN_CELLS = ".{1,60}"


def datasets(seed: Path = ROOT / "seed_data") -> dict[str, str]:
    """The text of each file by its name."""
    departments = {one.external_id: one.department for tenant in read_seed(seed) for one in tenant.documents}
    lines = [line for path in sorted(seed.glob("*/questions*.jsonl")) for line in path.read_text("utf-8").splitlines()]
    rows = [_row(json.loads(line), departments) for line in lines if line.strip()]
    some = set((SETS / "smoke.txt").read_text("utf-8").split())
    return {
        "seed": "".join(map(_line, rows)), "smoke": "".join(_line(row) for row in rows if row["id"] in some),
    }  # fmt: skip


def _line(row: dict[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"


def _row(told: dict[str, Any], departments: dict[str, str]) -> dict[str, Any]:
    """A question as a row of a dataset.

    The sets tell whether there is an answer; that one part of it is missing or disputed is let pass. Sources disagree
    where two of them may be cited: what one of them said before it ended is no disagreement.
    """
    let_pass = [] if told["outcome"] == "not_found" else ["answered", "partial", "conflict"]
    documents = told["expect_documents"]
    expected: dict[str, Any] = {"outcome": list(dict.fromkeys((told["outcome"], *let_pass)))}
    if documents:
        expected["evidence"] = {"any_of": documents}
    if told["expect_phrases"]:
        expected["facts"] = [_fact(phrase) for phrase in told["expect_phrases"]]
    if told["kind"] == "disagreement" and len(documents) > 1:
        expected["conflict"] = True
    row = {
        "id": told["id"], "question": told["question"], "asker": f"{told['tenant']}/{told['asker']}",
        "language": told["lang"], "history": told.get("history", []), "tags": [told["kind"]],
        "department": next((departments[name] for name in documents if name in departments), ""), "expected": expected,
    }  # fmt: skip
    return {name: value for name, value in row.items() if value}


def _fact(phrase: str) -> Any:
    """A phrase; the row of a table may also be told in words, cell by cell."""
    if not phrase.startswith("|"):
        return phrase
    cells = [re.escape(cell.strip()) for cell in phrase.strip(" |").split("|")]
    return [phrase, {"regex": _BETWEEN_CELLS.join(cells)}]


def main() -> None:
    """Write the files."""
    for name, text in datasets().items():
        (SETS / f"{name}.jsonl").write_text(text, "utf-8")


if __name__ == "__main__":
    main()
