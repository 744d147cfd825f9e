"""The reasoner port over any OpenAI-compatible model; what no model does, or could not do, is asked of the rules."""

from app.reasoning.llm.ladder import Ladder, Rung
from app.reasoning.llm.reasoner import ModelReasoner
from app.reasoning.llm.request import TimeLimits

__all__ = ["Ladder", "ModelReasoner", "Rung", "TimeLimits"]
