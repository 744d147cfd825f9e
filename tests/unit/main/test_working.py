"""Which queues a worker serves."""

import pytest

from app.agents.registry import AgentRegistry
from app.errors import AppError, ErrorCode
from app.main.working import served_queues


@pytest.fixture(scope="module")
def agents() -> AgentRegistry:
    return AgentRegistry.load(None, remote=("hr", "math"))


class TestServedQueues:
    @pytest.mark.parametrize(
        ("asked", "served"),
        [
            (("all",), ("chat", "ingest", "hr", "math")),
            (("math", "chat"), ("chat", "math")),
            (("it",), ("it",)),
            (("it", "all", "it"), ("chat", "ingest", "hr", "it", "math")),
        ],
    )
    def test_are_those_that_were_named(
        self, asked: tuple[str, ...], served: tuple[str, ...], agents: AgentRegistry
    ) -> None:
        assert served_queues(asked, agents) == served

    @pytest.mark.parametrize("asked", [(), ("sales",), ("hr", "step:hr"), ("run_task",), ("orchestrator",)])
    def test_must_exist(self, asked: tuple[str, ...], agents: AgentRegistry) -> None:
        with pytest.raises(AppError) as refusal:
            served_queues(asked, agents)
        assert refusal.value.code is ErrorCode.VALIDATION_FAILED
        assert "chat, ingest, hr" in refusal.value.detail
