"""Who has the floor, and when it passes on: by scores and by whether anything was found, never by what a document
says."""

from collections.abc import Iterable
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
class Match:
    """How much the documents an agent reads bear on a question, at best (0-1)."""

    agent: str
    relevance: float


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


def successor(floor: Floor, matches: Iterable[Match], least: float) -> Match | None:
    """Who takes over: the best match of at least `least` that had no turn yet; of equal ones the first by name."""
    able = [match for match in matches if match.relevance >= least and floor.may_pass_to(match.agent)]
    return min(able, key=lambda match: (-match.relevance, match.agent), default=None)


def is_better(other: Match, own: Match | None, least: float) -> bool:
    """Whether a question that was routed to `other` bears on that agent's documents at least as much."""
    return other.relevance >= max(least, own.relevance if own else 0.0)
