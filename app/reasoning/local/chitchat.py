"""Small talk: telling it from questions, and answering it in kind."""

import re
from collections.abc import Sequence
from typing import Literal

from app.domain.knowledge import Language
from app.reasoning import AgentOffer
from app.reasoning.local.cues import alternatives
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

_REPLIES: dict[Talk, dict[Language, str]] = {
    "greeting": {"vi": "Xin chào! Tôi có thể giúp gì cho bạn? {offer}", "en": "Hello! How can I help you? {offer}"},
    "thanks": {
        "vi": "Không có gì, rất vui được giúp bạn. Bạn cứ hỏi tiếp khi cần nhé.",
        "en": "You're welcome, glad to help. Just ask whenever you need something else.",
    },
    "agreement": {
        "vi": "Vâng, bạn cứ hỏi tiếp khi cần nhé.",
        "en": "All right. Just ask whenever you need something else.",
    },
    "goodbye": {"vi": "Tạm biệt, chúc bạn một ngày làm việc hiệu quả!", "en": "Goodbye, and have a good day!"},
    "identity": {
        "vi": "Tôi là Conclave, trợ lý nội bộ (một chương trình, không phải người thật). {offer}",
        "en": "I am Conclave, the company's internal assistant (a program, not a person). {offer}",
    },
    "ability": {
        "vi": "{offer} Câu trả lời luôn kèm nguồn mà bạn được phép xem.",
        "en": "{offer} Every answer names its sources, and only those you may read.",
    },
    "mood": {
        "vi": "Cảm ơn bạn đã hỏi thăm, tôi vẫn ổn và sẵn sàng hỗ trợ. {offer}",
        "en": "Thanks for asking, all is well here and I am ready to help. {offer}",
    },
    "complaint": {
        "vi": "Xin lỗi vì chưa giúp được bạn như mong đợi. Bạn nói rõ hơn điều cần tìm, tôi sẽ tìm lại trong tài liệu.",
        "en": "I am sorry I have not been of help. Tell me a little more about what you need and I will look again.",
    },
    "smalltalk": {
        "vi": "Chuyện này thì tôi không rành lắm, nhưng việc trong công ty thì tôi giúp được. {offer}",
        "en": "I am not much good at that, but I can help with matters of the company. {offer}",
    },
}  # fmt: skip
_OFFER: dict[Language, str] = {
    "vi": "Tôi trả lời câu hỏi về quy định, chính sách và tài liệu của công ty ({agents}).",
    "en": "I answer questions about the company's policies and documents ({agents}).",
}
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
    offer = (
        _OFFER[language].format(agents=listed(names, language))
        if names
        else _OFFER[language].replace(" ({agents})", "")
    )
    return _REPLIES[talk][language].format(offer=offer).strip()


def _bare(text: str) -> str:
    kept = re.sub(r"[^\w\s']", " ", fold(normalise(text)).lower())
    return " ".join(kept.split())
