"""How often the stages of a deep run may try."""

from pydantic import Field

from app.domain.record import Record


class DeepLimits(Record):
    """Per stage; deadline and budget are the run's, shared by all."""

    max_plan_tries: int = Field(3, ge=1)
    max_research_tries: int = Field(2, ge=1)
    """Of each research step."""
    max_expert_tries: int = Field(3, ge=1)
    max_tool_calls: int = Field(6, ge=0)
    """Of one visit to the researcher or the expert."""
    max_research_steps: int = Field(6, ge=0)
    """Of a plan; further ones are left out."""

    @property
    def most_visits(self) -> int:
        """Node visits that one run can have at most, in the graph and in either subgraph: more is a bug."""
        tries = self.max_plan_tries + self.max_research_tries * self.max_research_steps + self.max_expert_tries
        return max(4 * tries, 2 * self.max_tool_calls) + 8
