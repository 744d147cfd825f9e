"""The seed documents' own JSON is read and written by our records without loss."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from app.domain.answer import AgentOutput, ErrorAnswer, FinalAnswer, PerformanceMetrics, ResolutionRules, to_json
from app.domain.plan import ChitchatPlan, Plan, PlannedStep, Step
from app.domain.record import Record
from app.flow import wording

SPEC = Path(__file__).parents[4] / "shared" / "spec" / "3-multi-agent-flow.md"
pytestmark = pytest.mark.skipif(not SPEC.exists(), reason="the seed documents are not beside this checkout")


def json_blocks() -> list[str]:
    return re.findall(r"```json\n(.*?)```", SPEC.read_text("utf-8"), re.DOTALL)


def examples(key: str) -> list[Any]:
    """Every JSON example of the spec that has `key` at its top."""
    objects = [json.loads(block) for block in json_blocks() if not block.lstrip().startswith("[")]
    found = [value for value in objects if key in value]
    assert found, f"the spec has no example with {key}"
    return found


def stream_example() -> list[dict[str, Any]]:
    """§9.2 with its comments and its ellipsis removed."""
    block = next(block for block in json_blocks() if block.lstrip().startswith("["))
    parsed: list[dict[str, Any]] = json.loads(
        re.sub(r"^\s*//.*$", "", block, flags=re.MULTILINE).replace("[...]", "[]")
    )
    return parsed


class TestSeedShapes:
    @pytest.mark.parametrize(
        ("key", "record"),
        [("confidence_score", FinalAnswer), ("error_code", ErrorAnswer), ("tool_trace", AgentOutput)],
    )
    def test_an_example_survives_reading_and_writing(self, key: str, record: type[Record]) -> None:
        for example in examples(key):
            assert to_json(record.model_validate(example)) == example

    def test_performance_metrics_survive(self) -> None:
        [example] = examples("performance_metrics")
        written = to_json(PerformanceMetrics.model_validate(example["performance_metrics"]))
        assert written == example["performance_metrics"]

    def test_the_default_resolution_rules_are_the_seeds(self) -> None:
        [example] = examples("conflict_resolution_rules")
        assert ResolutionRules().model_dump() == example["conflict_resolution_rules"]

    def test_the_chitchat_form_survives(self) -> None:
        [example] = examples("is_chitchat")
        assert ChitchatPlan.model_validate(example).model_dump() == example

    def test_an_unknown_field_is_refused(self) -> None:
        [example] = examples("confidence_score")
        with pytest.raises(ValidationError):
            FinalAnswer.model_validate({**example, "confidnce": 1})


class TestPlan:
    def test_the_spelling_of_section_2_1_survives(self) -> None:
        example = next(plan for plan in examples("execution_flow") if "permission" in plan)
        assert Plan.model_validate(example).model_dump(mode="json") == example

    def test_the_spelling_of_section_9_1_is_read_and_written_as_2_1(self) -> None:
        example = next(plan for plan in examples("execution_flow") if "permission" not in plan)
        plan = Plan.model_validate(example)
        assert [[step.tool for step in tier] for tier in plan.tiers] == [["rag_tool"], ["summary_tool"], ["math_tool"]]
        written = plan.model_dump(mode="json")["execution_flow"]["planning"]["tasks"]
        assert len(written) == 1
        assert list(written[0]) == ["1", "2", "3"]
        assert Plan.model_validate(plan.model_dump(mode="json")) == plan

    def test_node_ids_and_queries_follow_the_seed(self) -> None:
        example = next(plan for plan in examples("execution_flow") if "permission" in plan)
        steps = Plan.model_validate(example).steps
        assert [step.node_id for step in steps] == [
            "general#rag", "hr#rag:1", "hr#rag:2", "hr#summary", "orchestrator#summary",
        ]  # fmt: skip
        assert [step.queries[0][0] for step in steps[:3]] == [1, 1, 2]

    def test_no_query_is_lost_when_steps_are_fewer_than_queries(self) -> None:
        example = next(plan for plan in examples("execution_flow") if "permission" not in plan)
        [rag, _, _] = Plan.model_validate(example).steps
        assert [index for index, _ in rag.queries] == [1, 2]

    def test_gaps_between_tiers_are_refused(self) -> None:
        example = json.loads(json.dumps(examples("execution_flow")[0]))
        tiers = example["execution_flow"]["planning"]["tasks"][0]
        tiers["5"] = tiers.pop("2")
        with pytest.raises(ValidationError):
            Plan.model_validate(example)


class TestProgress:
    def test_the_stream_example_is_reproduced(self) -> None:
        """Every object of §9.2, from the plan in it, byte for byte."""
        example = stream_example()
        tasks = example[0]["output"]["plan_summary"]["tasks"]
        steps = [
            PlannedStep(
                number=task["step_number"],
                tier=task["step_number"],
                step=Step(agent=task["agent"], tool=task["tool"], purpose=task["purpose"], message=task["message"]),
                queries=(),
                node_id="",
            )
            for task in tasks
        ]
        ours = [wording.plan_ready_progress(steps)]
        for done, step in enumerate(steps):
            ours.append(wording.step_begun_progress(step, done, len(steps)))
            ours.append(wording.step_ended_progress(step, done + 1, len(steps), ok=True))
        ours.append(wording.all_ran_progress([]))
        assert [event.model_dump(exclude={"type"}) for event in ours] == example
