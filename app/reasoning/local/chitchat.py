"""Small talk: telling it from questions, and answering it in kind."""

import re
from collections.abc import Sequence
from typing import Literal

from app.domain.knowledge import Language
from app.reasoning import AgentOffer
from app.reasoning.local.cues import alternatives, sentences
from app.reasoning.local.phrases import listed
from app.text.language import fold, normalise

Talk = Literal["greeting", "thanks", "agreement", "goodbye", "identity", "ability", "mood", "complaint", "smalltalk"]

_POLITE = rf"(?: (?:{alternatives('chitchat.polite')}))*"
_FOR_WHAT = r"(?: (?:vi|for|da) [^,.!?]{1,40})?"
_BEFORE_THANKS, _THANKS = alternatives("chitchat.before_thanks"), alternatives("chitchat.thanks")
_FIXED: tuple[tuple[Talk, re.Pattern[str]], ...] = (
    ("greeting", re.compile(rf"(?:{alternatives('chitchat.greeting')}){_POLITE}")),
    ("thanks", re.compile(rf"(?:{_BEFORE_THANKS})?(?:{_THANKS}){_POLITE}{_FOR_WHAT}")),
    ("agreement", re.compile(rf"(?:{alternatives('chitchat.agreement')}){_POLITE}")),
    ("goodbye", re.compile(rf"(?:{alternatives('chitchat.goodbye')}){_POLITE}")),
)
_SECTIONS: tuple[tuple[str, Talk], ...] = (
    ("chitchat.play", "smalltalk"),
    ("chitchat.naming", "smalltalk"),
    ("chitchat.identity", "identity"),
    ("chitchat.ability", "ability"),
    ("chitchat.mood", "mood"),
    ("chitchat.likes", "smalltalk"),
)
_ADDRESSED = tuple((talk, re.compile(alternatives(section))) for section, talk in _SECTIONS)
"""Things that are said about the assistant itself; folded, lower case."""

_ACRONYM = 3
_LONGEST_REMARK = 14
"""Words; what is longer is seldom said to the assistant about itself."""


def fixed_talk(text: str) -> Talk | None:
    """The kind of a set phrase that is nothing else (“xin chào”, “thanks a lot”); None for everything longer."""
    bare = _bare(text)
    return next((talk for talk, pattern in _FIXED if pattern.fullmatch(bare)), None)


def addressed_talk(text: str) -> Talk | None:
    """The kind of something said to the assistant about itself; None when it is about anything else."""
    bare = _bare(text)
    if len(bare.split()) > _LONGEST_REMARK:
        return None
    return next((talk for talk, pattern in _ADDRESSED if pattern.search(bare)), None)


def is_small_talk(text: str) -> bool:
    """Whether it is a set phrase, or said to the assistant about itself, and so asks nothing of the documents."""
    return fixed_talk(text) is not None or addressed_talk(text) is not None


def reply(talk: Talk, language: Language, agents: Sequence[AgentOffer]) -> str:
    """A short friendly answer that says what can be asked here."""
    names = [agent.name.upper() if len(agent.name) <= _ACRONYM else agent.name for agent in agents]
    texts = sentences("small_talk", language)
    offer = (
        texts["offer"].format(agents=listed(names, language)) if names else texts["offer"].replace(" ({agents})", "")
    )
    return texts[talk].format(offer=offer).strip()


def _bare(text: str) -> str:
    kept = re.sub(r"[^\w\s']", " ", fold(normalise(text)).lower())
    return " ".join(kept.split())
