"""What was read inside the house is not carried out of it.

A page or document may tell a mind to look something up outside, with what it has read in the words. Once a run has read
the company's own sources, a tool that asks somebody else is given only words that stand in the question or in the plan,
which were there before anything was read.
"""

from app.domain.plan import FILES_TOOL, LOG_TOOL, RAG_TOOL, TRANSCRIPT_TOOL, WEB_TOOL, WIKIPEDIA_TOOL
from app.flow.deep.state import DeepState
from app.reasoning.deep import ToolWish
from app.text.language import words

_OUTSIDE = frozenset({WEB_TOOL, WIKIPEDIA_TOOL, TRANSCRIPT_TOOL})
_INSIDE = frozenset({RAG_TOOL, LOG_TOOL, FILES_TOOL})


def carries_out(wish: ToolWish, state: DeepState) -> bool:
    """Whether a wish could tell somebody outside what was read inside."""
    if wish.tool not in _OUTSIDE or not any(one.tool in _INSIDE for one in state.observations):
        return False
    plan = state.plan
    known = (state.said, *(plan.research + plan.logic if plan else ()))
    return not set(words(" ".join((wish.query, *wish.arguments.values())))) <= set(words(" ".join(known)))
