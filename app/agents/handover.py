"""Who has the floor, and when it passes on: by scores and by whether anything was found, never by what a document
says."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from app.events import Handover


class Reason(StrEnum):
    """Why an agent hands over."""

    BETTER_MATCH = "better_match"
    """The question belongs to another agent, and that agent's documents bear on it at least as much."""
    NO_EVIDENCE = "no_evidence"
    """Nothing was found above ``min_relevance_score``."""


@dataclass(frozen=True)
class Floor:
    """Who had the floor in this turn, in order. Nobody gets it twice, and it passes at most `max_handovers` times."""

    held_by: tuple[str, ...]
    max_handovers: int
    handovers: int = 0

    @property
    def is_final(self) -> bool:
        """Whether it stays where it is."""
        return self.handovers >= self.max_handovers

    def may_pass_to(self, agent: str) -> bool:
        """Whether this agent can still be given the floor."""
        return not self.is_final and agent not in self.held_by

    def handover_to(self, agent_id: str, reason: Reason) -> tuple["Floor", Handover]:
        """The floor as it stands then, and the event that tells. Raises `ValueError` when it may not pass there."""
        if not self.may_pass_to(agent_id) or not self.held_by:
            raise ValueError(f"{agent_id} cannot be given the floor: {self}")
        event = Handover(from_agent=self.held_by[-1], to_agent=agent_id, reason=reason.value)
        return Floor((*self.held_by, agent_id), self.max_handovers, self.handovers + 1), event


def successor(floor: Floor, relevance: Mapping[str, float], least: float) -> str | None:
    """Who takes over: of the agents that had no turn yet, the one whose documents bear on the question best (0-1), at
    least `least`; of equal ones the first by name."""
    able = [agent for agent, bears in relevance.items() if bears >= least and floor.may_pass_to(agent)]
    return min(able, key=lambda agent: (-relevance[agent], agent), default=None)
