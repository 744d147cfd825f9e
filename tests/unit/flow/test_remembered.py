from collections.abc import Callable
from dataclasses import fields, replace
from datetime import date
from types import SimpleNamespace
from typing import Any, cast

import pytest
from cachetools import TTLCache
from hypothesis import given
from hypothesis import strategies as st

from app.domain.answer import ExecutionMetadata
from app.domain.principal import SCOPES, Principal
from app.domain.tasks import ChatRequest, Message
from app.flow.answer_cache import MAX_ENTRIES, AnswerCache, AnswerKey, CachedAnswer, cache_key, look_up
from app.flow.state import Asking, FlowLimits, RunContext
from app.reasoning import Composition
from app.retrieval.cache import Rights
from app.telemetry import counting_cache_use
from tests import factories

HERE = factories.principal()
TODAY = date(2026, 11, 21)


def answer(text: str = "14 ngày.") -> CachedAnswer:
    return CachedAnswer(
        composition=Composition(
            answer=text, outcome="answered", reasoning="", confidence=0.9, follow_up_questions=()
        ),
        evidence=(),
        plan=None,
        metadata=ExecutionMetadata(
            total_duration_ms=90, agents_invoked=("hr",), tools_executed=("rag_tool",), total_queries=1,
            conflict_resolution_applied=False, department_permission_filtering=True, accessible_departments=(),
        ),
    )  # fmt: skip


def memory(timer: Callable[[], float] = lambda: 0.0, **limits: Any) -> AnswerCache:
    return TTLCache(limits.get("max_entries", MAX_ENTRIES), limits.get("ttl_seconds", 60), timer)


class Corpus:
    """A corpus in a given state."""

    def __init__(self, version: int | None):
        self.state = version

    async def version(self, _principal: Principal) -> int | None:
        return self.state


async def key(
    principal: Principal = HERE,
    *,
    history: tuple[Message, ...] = (),
    today: date = TODAY,
    version: int | None = 1,
    enable_caching: bool = True,
    is_strict: bool = False,
    **request: Any,
) -> AnswerKey | None:
    """What a question is remembered by; unnamed parts are always the same."""
    asked = ChatRequest.model_validate({"query": "Nghỉ phép năm mấy ngày?", **request})
    context = SimpleNamespace(
        asking=Asking(principal, asked, history, today, is_strict=is_strict),
        limits=FlowLimits(enable_caching=enable_caching),
        memory=memory(),
        ports=SimpleNamespace(corpus=Corpus(version)),
    )
    return await cache_key(cast(RunContext, context))


texts = st.text(max_size=5)
rights = st.builds(
    Rights,
    st.sampled_from([HERE.tenant_id, factories.principal("globex").tenant_id]),
    st.frozensets(st.sampled_from(SCOPES)),
    st.frozensets(st.sampled_from(["hr", "it", "general"])),
    st.frozensets(st.sampled_from(["admin", "auditor"])),
)
keys = st.builds(
    AnswerKey,
    rights=rights,
    corpus_version=st.integers(0, 3),
    query=texts,
    asked=texts,
    today=st.dates(),
)


class TestAnswerMemory:
    @given(keys, keys)
    def test_two_runs_share_an_answer_only_when_every_part_of_their_keys_is_equal(
        self, one: AnswerKey, other: AnswerKey
    ) -> None:
        kept = memory()
        kept[one] = answer()
        same = all(getattr(one, part.name) == getattr(other, part.name) for part in fields(AnswerKey))
        assert (kept.get(other) is not None) == same

    @given(keys, keys, st.data())
    def test_one_differing_part_is_enough(self, one: AnswerKey, other: AnswerKey, data: st.DataObject) -> None:
        part = data.draw(st.sampled_from([part.name for part in fields(AnswerKey)]))
        changed = replace(one, **{part: getattr(other, part)})
        kept = memory()
        kept[one] = answer()
        assert (kept.get(changed) is None) == (getattr(one, part) != getattr(other, part))

    def test_forgets_after_a_while(self) -> None:
        now = 0.0
        kept = memory(lambda: now, ttl_seconds=60)
        kept[ONE] = answer()
        now = 59.0
        assert kept.get(ONE) is not None
        now = 61.0
        assert kept.get(ONE) is None

    def test_remembers_nothing_with_a_lifetime_of_zero(self) -> None:
        kept = memory(ttl_seconds=0)
        kept[ONE] = answer()
        assert kept.get(ONE) is None

    def test_holds_no_more_than_its_bound(self) -> None:
        kept = memory(max_entries=3)
        asked = [replace(ONE, query=f"question {number}") for number in range(5)]
        for one in asked:
            kept[one] = answer()
        assert [kept.get(one) is not None for one in asked] == [False, False, True, True, True]

    def test_counts_what_it_is_asked(self) -> None:
        kept = memory()
        with counting_cache_use() as use:
            look_up(kept, ONE)
            kept[ONE] = answer()
            look_up(kept, ONE)
        assert (use.hits, use.lookups, use.hit_ratio) == (1, 2, 0.5)


ONE = AnswerKey(rights=Rights.of(HERE), corpus_version=1, query="q", asked="{}", today=TODAY, is_strict=False)


class TestKeyOf:
    @pytest.mark.parametrize(
        "change",
        [
            {"query": "Nghỉ ốm mấy ngày?"},
            {"query": "nghỉ phép năm mấy ngày?"},
            {"query": "Nghỉ phép năm mấy ngày"},
            {"agents": {"hr": {"desc": ""}}},
            {"agents": {"hr": {"desc": "", "tools": [{"name": "rag_tool"}]}}},
            {"mode": "department"},
            {"language": "en"},
            {"as_of": date(2025, 3, 1)},
            {"today": date(2026, 11, 22)},
            {"version": 2},
            {"is_strict": True},
            {"principal": factories.principal(tenant="globex")},
            {"principal": factories.principal(scopes=("public", "internal"))},
            {"principal": factories.principal(department="it")},
            {"principal": factories.principal(roles=("admin",))},
            {"principal": HERE.model_copy(update={"departments": frozenset({"hr", "it"})})},
        ],
    )
    async def test_anything_that_may_change_the_answer_changes_the_key(self, change: dict[str, Any]) -> None:
        assert await key(**change) != await key()

    @pytest.mark.parametrize(
        "change",
        [
            {"query": "Nghi\u0309 phép  năm mấy ngày?"},
            {"query": " Nghỉ phép năm mấy\u200b ngày?\n"},
            {"principal": factories.principal(user="hoa")},
            {"principal": HERE.model_copy(update={"name": "Somebody Else"})},
        ],
    )
    async def test_spelling_and_person_do_not(self, change: dict[str, Any]) -> None:
        assert await key(**change) == await key()

    async def test_a_question_with_a_history_has_none(self) -> None:
        assert await key(history=(Message(role="user", content="Xin chào"),)) is None

    async def test_none_when_caching_is_off_or_the_tenant_is_unknown(self) -> None:
        assert await key(enable_caching=False) is None
        assert await key(version=None) is None
