"""The minds of the deep flow over a language model, with the rules behind them.

`shapes` (what may be replied), `telling` and `observed` (what a model is told, bounded), `calls` (which tool calls are
taken), `grounds` (what a result may state), then one module a mind: `planning`, `acting`, `judging`, `reporting`.
"""

from app.reasoning.llm.deep.reasoner import ModelDeepReasoner

__all__ = ["ModelDeepReasoner"]
