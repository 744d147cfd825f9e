"""The reasoner port over any OpenAI-compatible model.

From the wire up: `request` (a call and how it may end), `endpoint` (one request, its clock), `ladder` (tries, budget, a
breaker, the next smaller model), `structured` (replies as records), `gate` (what of a streamed answer
may go out), `reasoner` (the port). What no model does, and what a model could not do, is asked of the rules.
"""

from app.reasoning.llm.ladder import Ladder, Rung
from app.reasoning.llm.reasoner import ModelReasoner
from app.reasoning.llm.request import TimeLimits

__all__ = ["Ladder", "ModelReasoner", "Rung", "TimeLimits"]
