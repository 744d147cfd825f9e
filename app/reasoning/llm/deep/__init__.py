"""The minds of the deep flow over a language model, with the rules behind them.

`shapes` (what may be replied), `telling` (what a model is told, bounded), `calls` (which tool calls are taken),
`grounds` (what a result may state), then the agents: `planning` (planner and critic), `acting`, `reporting`.
"""

from app.reasoning.llm.deep.reasoner import ModelDeepReasoner

__all__ = ["ModelDeepReasoner"]
