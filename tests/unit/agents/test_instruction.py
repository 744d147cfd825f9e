from hypothesis import given
from hypothesis import strategies as st

from app.agents.spec import LEAST_TOKENS, compact
from app.domain.plan import PlannedStep, Step
from app.domain.tasks import PrivateContext
from app.text.language import estimated_tokens

HASH = "0123456789abcdef"
NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,48}(\.[A-Za-z0-9_.-]{1,128})?", fullmatch=True)


def planned(message: str, tool: str = "rag_tool", queries: int = 2) -> PlannedStep:
    asked = tuple((number, "?") for number in range(1, queries + 1))
    step = Step(agent="hr", tool=tool, message=message)
    return PlannedStep(number=1, tier=1, step=step, queries=asked, node_id="hr#rag")


class TestCompact:
    def test_says_what_the_leader_seed_says(self) -> None:
        told = compact(planned("Analyse XX company"), 500, HASH)
        assert told == f"Task: Analyse XX company | Tool: rag_tool | Queries: 2 | Format: JSON | Context: {HASH}"

    @given(
        message=st.text(max_size=3_000), tool=NAMES, queries=st.integers(0, 100), limit=st.integers(LEAST_TOKENS, 900)
    )
    def test_keeps_the_token_limit_and_the_hash(self, message: str, tool: str, queries: int, limit: int) -> None:
        told = compact(planned(message, tool, queries), limit, HASH)
        assert estimated_tokens(told) <= limit
        assert told.startswith("Task: ")
        assert told.endswith(f" | Format: JSON | Context: {HASH}")

    @given(message=st.text(max_size=200))
    def test_cuts_nothing_that_fits(self, message: str) -> None:
        assert compact(planned(message), 500, HASH).startswith(f"Task: {message} | Tool: rag_tool")


class TestPrivateContext:
    @given(st.text(max_size=50), st.text(max_size=50))
    def test_equal_contexts_have_equal_hashes_and_others_others(self, one: str, other: str) -> None:
        first, second = (
            PrivateContext(message=text, queries=((1, text),), refined_query=text, language="vi")
            for text in (one, other)
        )
        assert (first.context_hash == second.context_hash) == (one == other)
