"""The product knows nothing of the demo companies: their names stand in their data, and in question sets."""

from pathlib import Path

APP = Path(__file__).parents[2] / "app"
SETS = APP / "evaluation" / "sets"
NAMES = ("acme", "globex")


def test_no_file_of_the_product_names_a_demo_company() -> None:
    offenders = []
    for path in sorted(APP.rglob("*")):
        if not path.is_file() or "__pycache__" in path.parts or SETS in path.parents:
            continue
        text = path.read_bytes().decode("utf-8", "ignore").casefold()
        offenders += [f"{path.relative_to(APP)}: {name}" for name in NAMES if name in text]
    assert offenders == []
