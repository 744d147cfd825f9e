"""Every room has a budget of lines and files, in `pyproject.toml`; growth needs a page in `docs/decisions`."""

import tomllib
from pathlib import Path
from typing import Any

HOUSE = Path(__file__).parents[2]
BUDGET: dict[str, Any] = tomllib.loads((HOUSE / "pyproject.toml").read_text("utf-8"))["tool"]["conclave"]["budget"]
SUBJECT_OF = {part: subject for subject, later in BUDGET["later"].items() for part in later["parts"]}
WIDTH = 28
MOST_LATER = 8_480
Size = tuple[int, int]


def sizes() -> dict[str, Size]:
    """Lines and files of every room and of every later part; a module belongs to the longest name it lies under."""
    counted: dict[str, Size] = dict.fromkeys([*BUDGET["rooms"], *SUBJECT_OF], (0, 0))
    for path in sorted((HOUSE / "app").rglob("*.py")):
        name = path.relative_to(HOUSE / "app").as_posix().removesuffix(".py")
        room = max((one for one in counted if f"{name}/".startswith(f"{one}/")), key=len, default="")
        assert room, f"{name} lies in no room of the budget: give it one in pyproject.toml"
        lines, files = counted[room]
        counted[room] = (lines + path.read_text("utf-8").count("\n"), files + 1)
    return counted


def together(counted: dict[str, Size], names: list[str]) -> Size:
    """Lines and files of several rooms."""
    return sum(counted[name][0] for name in names), sum(counted[name][1] for name in names)


class TestBudget:
    def test_every_room_stays_within_its_lines_and_files(self) -> None:
        counted = sizes()
        whole, total = together(counted, [*counted]), together(counted, BUDGET["rooms"])
        lines = [f"{'room':{WIDTH}} {'lines':>7} {'budget':>7} {'files':>6} {'budget':>7}"]
        over = []
        for room in (*BUDGET["rooms"], "all"):
            own_lines, own_files = total if room == "all" else counted[room]
            most_lines, most_files = BUDGET["all"] if room == "all" else BUDGET["rooms"][room]
            lines.append(f"{room:{WIDTH}} {own_lines:7} {most_lines:7} {own_files:6} {most_files:7}")
            if own_lines > most_lines or own_files > most_files:
                over.append(room)
            if room != "all" and own_lines > BUDGET["largest_share"] * whole[0]:
                over.append(f"{room} is {own_lines / whole[0]:.0%} of the whole")
        for subject, later in BUDGET["later"].items():
            own_lines, own_files = together(counted, later["parts"])
            lines.append(f"later: {subject:{WIDTH - 7}} {own_lines:7} {later['most']:7} {own_files:6}")
            if own_lines > later["most"]:
                over.append(subject)
        print("\n".join(lines))  # noqa: T201, the table is the point
        assert not over, "\n".join((*lines, f"over: {over}"))

    def test_what_came_later_has_no_more_lines_than_it_was_given(self) -> None:
        assert sum(later["most"] for later in BUDGET["later"].values()) <= MOST_LATER
        assert len(SUBJECT_OF) == sum(len(later["parts"]) for later in BUDGET["later"].values()), "a part named twice"
