"""Asking a house: as whom, in which conversation, refused before anything is asked, tidied up however it ends."""

from datetime import date
from typing import Any

import pytest

from app.domain.principal import tenant_id_of
from app.errors import AppError
from app.evaluation.dataset import Case, Dataset
from app.evaluation.question import Question
from app.evaluation.running import Evaluation, KnownDocument
from tests.factories import principal
from tests.unit.evaluation.runs import LEAVE, SALARY, PaperHouse, events, question

SHELF = [
    KnownDocument(external_id="leave", url=LEAVE, department="general", scope="public"),
    KnownDocument(external_id="salary", url=SALARY, department="it", scope="private"),
]
OWN = {"title": "Leave", "text": "12 days.", "url": LEAVE, "scope": "public", "external_id": "leave"}


def dataset(*questions: Question, name: str = "mine") -> Dataset:
    return Dataset(name, tuple(Case(one, f"{name}.jsonl: line {number}") for number, one in enumerate(questions, 1)))


def silent(done: int, of: int, title: str) -> None:
    pass


async def run(house: PaperHouse, *datasets: Dataset, **changes: Any) -> list[Any]:
    async with Evaluation(house, datasets, **changes) as evaluation:
        await evaluation.prepare(silent)
        return await evaluation.run(2, silent)


class TestEvaluation:
    async def test_asks_as_the_asker_under_a_user_of_its_own_and_forgets(self) -> None:
        asked = question(as_of="2025-01-01")
        house = PaperHouse({"acme": SHELF}, {asked.question: events()})
        [one] = await run(house, dataset(asked))
        assert one.right and one.key == "mine/q" and one.observation.evidence[0] == LEAVE
        [(asker, session_id, query, as_of)] = house.asked
        lan = principal()
        assert asker.user_id != lan.user_id and asker.model_copy(update={"user_id": lan.user_id}) == lan
        assert (session_id, query, as_of) == (None, asked.question, date(2025, 1, 1))
        assert house.sessions == set()

    async def test_judges_by_what_the_asker_may_read(self) -> None:
        asked = question(expected={"facts": ["12 days"]})
        house = PaperHouse({"acme": SHELF}, {asked.question: events(urls=(LEAVE, SALARY))})
        [one] = await run(house, dataset(asked))
        assert [leak.what for leak in one.leaks] == [SALARY]  # lan belongs to hr

    async def test_earlier_questions_come_first_in_the_same_conversation(self) -> None:
        asked = question(history=["First?"], expected={"must_not_contain": ["secret"]})
        house = PaperHouse({"acme": SHELF}, {"First?": events("a secret"), asked.question: events()})
        [one] = await run(house, dataset(asked))
        [(_, before, _, _), (_, after, _, _)] = house.asked
        assert before is None and after is not None
        assert [leak.where for leak in one.leaks] == ["event text_delta", "answer", "event text_delta"]

    async def test_brings_own_documents_into_a_tenant_that_is_removed(self) -> None:
        rights = {"scopes": ["public"]}
        one = question(asker=rights, documents=[OWN])
        other = question(id="b", asker=rights, documents=[OWN | {"text": "14 days."}], corpus="b")
        house = PaperHouse({}, {one.question: events()})
        asked = await run(house, dataset(one, other))
        assert len(house.furnished) == 2 and sorted(house.cleared) == sorted(house.furnished)
        assert {asker.tenant_id for asker, *_ in house.asked} == {tenant_id_of(name) for name in house.furnished}
        assert all(found.right and not found.question.documents for found in asked)

    @pytest.mark.parametrize(
        ("changes", "complaint"),
        [
            ({"asker": "acme/nobody"}, "mine.jsonl: line 2: There is no user 'acme/nobody'."),
            (
                {"asker": {"tenant": "umbrella", "scopes": ["public"]}},
                "mine.jsonl: line 2: There is no tenant 'umbrella'.",
            ),
            ({"expected": {"evidence": ["x"]}}, "mine.jsonl: line 2: expected: acme has no document 'x'."),
            ({"expected": {"conflict": {"winner": "x"}}}, "mine.jsonl: line 2: expected: acme has no document 'x'."),
        ],
    )
    async def test_refuses_before_anything_is_asked(self, changes: dict[str, Any], complaint: str) -> None:
        house = PaperHouse({"acme": SHELF})
        with pytest.raises(AppError) as refusal:
            await run(house, dataset(question(), question(id="b", **changes)))
        assert refusal.value.detail == complaint and house.asked == []

    async def test_a_refused_question_counts_as_failed(self) -> None:
        [one] = await run(PaperHouse({"acme": SHELF}), dataset(question()))
        assert one.observation.error.startswith("PERMISSION_DENIED") and not one.right

    async def test_tidies_up_after_a_crash(self) -> None:
        asked = question(asker={"scopes": ["public"]}, documents=[OWN])
        house = PaperHouse({})
        with pytest.raises(RuntimeError):
            async with Evaluation(house, [dataset(asked)]) as evaluation:
                await evaluation.prepare(silent)
                raise RuntimeError
        assert house.cleared == house.furnished != []

    async def test_tells_progress(self) -> None:
        house, told = PaperHouse({"acme": SHELF}, {question().question: events()}), list[tuple[int, int]]()
        async with Evaluation(house, [dataset(question(), question(id="b"))]) as evaluation:
            await evaluation.prepare(silent)
            await evaluation.run(1, lambda done, of, _: told.append((done, of)))
            assert told == [(1, 2), (2, 2)]
