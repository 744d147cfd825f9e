"""Every room has a budget of lines and files, in `pyproject.toml`; growth needs a page in `docs/decisions`."""

import tomllib
from pathlib import Path

HOUSE = Path(__file__).parents[2]
BUDGET = tomllib.loads((HOUSE / "pyproject.toml").read_text("utf-8"))["tool"]["conclave"]["budget"]
WIDTH = 28


def sizes() -> dict[str, tuple[int, int]]:
    """Lines and files of every room; a module belongs to the longest name in the budget that it lies under."""
    counted = dict.fromkeys(BUDGET["rooms"], (0, 0))
    for path in sorted((HOUSE / "app").rglob("*.py")):
        name = path.relative_to(HOUSE / "app").as_posix().removesuffix(".py")
        room = max((one for one in counted if f"{name}/".startswith(f"{one}/")), key=len, default="")
        assert room, f"{name} lies in no room of the budget: give it one in pyproject.toml"
        lines, files = counted[room]
        counted[room] = (lines + path.read_text("utf-8").count("\n"), files + 1)
    return counted


class TestBudget:
    def test_every_room_stays_within_its_lines_and_files(self) -> None:
        counted = sizes()
        total = tuple(sum(column) for column in zip(*counted.values(), strict=True))
        lines = [f"{'room':{WIDTH}} {'lines':>7} {'budget':>7} {'files':>6} {'budget':>7}"]
        over = []
        for room, (own_lines, own_files) in {**counted, "all": total}.items():
            most_lines, most_files = BUDGET["all"] if room == "all" else BUDGET["rooms"][room]
            lines.append(f"{room:{WIDTH}} {own_lines:7} {most_lines:7} {own_files:6} {most_files:7}")
            if own_lines > most_lines or own_files > most_files:
                over.append(room)
            if room != "all" and own_lines > BUDGET["largest_share"] * total[0]:
                over.append(f"{room} is {own_lines / total[0]:.0%} of the whole")
        print("\n".join(lines))  # noqa: T201, the table is the point
        assert not over, "\n".join((*lines, f"over: {over}"))
