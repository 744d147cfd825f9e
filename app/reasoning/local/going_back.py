"""Going back in a conversation: “quay lại chuyện đi muộn, còn thử việc thì sao?”, “back to parking: who pays?”."""

import re
from collections.abc import Sequence

from app.domain.tasks import Message
from app.reasoning.local.cues import alternatives
from app.reasoning.local.terms import bag_of, coverage, terms_of
from app.text.language import is_unaccented_vietnamese, normalise

_BACK = re.compile(
    rf"^(?:{alternatives('going_back.opening')})?(?:{alternatives('going_back.verb')})\s+"
    rf"(?:(?:{alternatives('going_back.matter')})\s+)*(?P<topic>[^,:;–?!]+?)\s*(?:[,:;–]\s*(?P<rest>.+))?[?!.\s]*$",
    re.IGNORECASE,
)
_MENTIONED = 0.5
"""Share of the topic's weight an earlier question must mention."""


def gone_back_to(text: str, history: Sequence[Message]) -> tuple[str, str] | None:
    """The earlier question a text goes back to, complete, and what it asks now (empty = the same again).

    None when it goes nowhere, or nothing like that was asked. Of equal matches the later one is meant.
    """
    back = _BACK.match(normalise(text))
    if back is None:
        return None
    best, found = 0.0, ""
    for message in history:
        asked = message.meaning or message.content
        if message.role == "user" and (share := _mentions(asked, back["topic"])) >= max(best, _MENTIONED):
            best, found = share, asked
    return (normalise(found), (back["rest"] or "").strip()) if found else None


def _mentions(question: str, topic: str) -> float:
    folded = is_unaccented_vietnamese(topic) or is_unaccented_vietnamese(question)
    terms = terms_of(topic, folded)
    return coverage(terms, [term.weight for term in terms], bag_of(question, folded))
