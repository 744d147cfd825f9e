"""What the bus hears of a handed out step's own journal: that there is something to look at, and nothing else.

The events themselves are told once, by the run's journal, when its leader has copied them there.
"""

from contextlib import AbstractAsyncContextManager

from app.bus import Bus, Subscription
from app.domain.messages import Message, Method, Wanted
from app.domain.plan import ORCHESTRATOR

STEP_JOURNAL = "step_journal"
"""The topic: look into the journal of the step the message names."""


class StepHints:
    """A bus on which a step's journal only wakes its leader."""

    def __init__(self, bus: Bus):
        self._bus = bus

    async def publish(self, *messages: Message) -> None:
        """One hint for all of them."""
        if messages:
            told = {
                "method": Method.PROGRESS, "topic": STEP_JOURNAL, "to_agent": ORCHESTRATOR, "agent_type": "",
                "task_id": messages[-1].root_task_id, "token_limit": None, "payload": None,
            }  # fmt: skip
            await self._bus.publish(messages[-1].model_copy(update=told))

    def subscribe(self, wanted: Wanted) -> AbstractAsyncContextManager[Subscription]:
        """See `Bus`."""
        return self._bus.subscribe(wanted)

    async def request(self, message: Message, reply: Wanted, seconds: float) -> Message | None:
        """See `Bus`."""
        return await self._bus.request(message, reply, seconds)

    async def aclose(self) -> None:
        """The bus is another's to close."""
