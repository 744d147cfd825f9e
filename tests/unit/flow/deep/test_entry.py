"""Which questions go deep by themselves: few, and none that the department flow answers today."""

from pathlib import Path
from typing import Any

import pytest

from app.domain.knowledge import Language
from app.evaluation.dataset import DEFAULT, open_dataset
from app.flow.deep.graph import needs_deep
from app.flow.deep.stages import planned_question
from app.reasoning import Classification
from app.reasoning.local.intents import needs_steps
from app.text.language import guess_language

ROOT = Path(__file__).parents[4]
STEPS = "Đi công tác Hà Nội 3 ngày 2 đêm thì được tối đa bao nhiêu tiền phụ cấp và khách sạn tổng cộng?"


def classified(query: str, **changes: Any) -> Classification:
    values = {
        "kind": "task", "language": guess_language(query), "refined_query": query, "sub_queries": (query,),
        "confidence": 0.9,
    }  # fmt: skip
    return Classification.model_validate(values | changes)


def always(_query: str, _language: Language) -> bool:
    return True


class TestNeedsDeep:
    def test_where_steps_depend_on_one_another(self) -> None:
        assert needs_deep(classified(STEPS), STEPS, needs_steps)

    @pytest.mark.parametrize(
        "changes",
        [{"kind": "chitchat", "refined_query": ""}, {"kind": "refused"}, {"is_follow_up": True}],
        ids=["chitchat", "refused", "follow-up"],
    )
    def test_nowhere_else(self, changes: dict[str, Any]) -> None:
        assert not needs_deep(classified(STEPS, **changes), STEPS, always)

    def test_in_doubt_it_does_not(self) -> None:
        """What was asked and what was understood have to agree."""
        assert not needs_deep(classified("Công ty có mấy giá trị cốt lõi?"), STEPS, needs_steps)
        assert not needs_deep(classified(STEPS), "còn Hà Nội thì sao?", needs_steps)

    @pytest.mark.parametrize("name", (*DEFAULT, "seed"))
    def test_no_question_of_the_bundled_sets_leaves_the_department_flow(self, name: str) -> None:
        asked = [case.question.question for case in open_dataset(name).cases]
        assert asked
        assert [query for query in asked if needs_deep(classified(query), query, needs_steps)] == []


def test_the_question_is_planned_as_asked_unless_it_leans_on_its_conversation() -> None:
    asked = "Hạn là ngày nào? Trả lời theo dạng DD/MM/YYYY."
    refined = classified("Hạn là ngày nào, và trả lời theo dạng DD/MM/YYYY?")
    assert planned_question(refined, asked) == asked
    assert planned_question(refined.model_copy(update={"is_follow_up": True}), "còn hạn?") == refined.refined_query
