"""The graph is the one the seed draws."""

import re
from pathlib import Path

import pytest

from app.flow.deep.graph import build_deep_graph

SEED = Path(__file__).parents[5] / "shared" / "spec" / "1-gaia-agents.md"
_ARROW = re.compile(r"^\s*(\w+) (-->|-\.->) (\w+);$", re.MULTILINE)
OUTER = {
    ("__start__", "input_interface", False), ("critic", "orchestrator", False), ("expert", "orchestrator", False),
    ("input_interface", "orchestrator", False), ("orchestrator", "critic", True), ("orchestrator", "expert", True),
    ("orchestrator", "finalizer", True), ("orchestrator", "planner", True), ("orchestrator", "researcher", True),
    ("planner", "orchestrator", False), ("researcher", "orchestrator", False), ("finalizer", "__end__", False),
}  # fmt: skip
"""(from, to, whether it is one of several): the seed's first picture."""


def inner(agent: str) -> set[tuple[str, str, bool]]:
    """The seed's second picture, inside a subgraph."""
    return {
        (f"{agent}___start__", f"{agent}_{agent}", False), (f"{agent}_{agent}", f"{agent}___end__", True),
        (f"{agent}_{agent}", f"{agent}_tools", True), (f"{agent}_tools", f"{agent}_{agent}", False),
    }  # fmt: skip


def edges_of(*, xray: bool) -> set[tuple[str, str, bool]]:
    drawn = build_deep_graph().get_graph(xray=xray)
    return {(e.source.replace(":", "_"), e.target.replace(":", "_"), e.conditional) for e in drawn.edges}


def pictures() -> list[set[tuple[str, str, bool]]]:
    blocks = re.findall(r"```mermaid\n(.*?)```", SEED.read_text("utf-8"), re.DOTALL)
    drawn = [{(a, b, arrow == "-.->") for a, arrow, b in _ARROW.findall(block)} for block in blocks]
    return [edges for edges in drawn if ("__start__", "input_interface", False) in edges]


class TestEdges:
    def test_are_those_of_the_first_picture(self) -> None:
        assert edges_of(xray=False) == OUTER

    def test_are_those_of_the_second_picture(self) -> None:
        ends, starts = ({one: f"{one}___{end}__" for one in ("researcher", "expert")} for end in ("end", "start"))
        outer = {(ends.get(a, a), starts.get(b, b), c) for a, b, c in OUTER}
        assert edges_of(xray=True) == outer | inner("researcher") | inner("expert")

    @pytest.mark.skipif(not SEED.exists(), reason="the seed documents are not beside this checkout")
    def test_are_those_of_the_seed_itself(self) -> None:
        assert pictures() == [edges_of(xray=False), edges_of(xray=True)]
