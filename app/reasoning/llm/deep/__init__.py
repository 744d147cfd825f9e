"""The minds of the deep flow over a language model, with the rules behind them."""

from app.reasoning.llm.deep.reasoner import ModelDeepReasoner

__all__ = ["ModelDeepReasoner"]
