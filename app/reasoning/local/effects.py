"""Questions about effects call for their consequences too: what lateness affects, and what is done about it."""

import re

from app.domain.knowledge import Language
from app.reasoning.local.cues import alternatives
from app.reasoning.local.wording import Part, lower_first
from app.text.language import normalise

_EFFECT_VI = re.compile(
    r"^(?:việc |chuyện |nếu |khi )?(?P<cause>.+?)\s+(?:có |sẽ |thì |bị )*(?:gây )?(?:ảnh hưởng|tác động)\b",
    re.IGNORECASE,
)
_EFFECT_FOLDED = re.compile(
    r"^(?:viec |chuyen |neu |khi )?(?P<cause>.+?)\s+(?:co |se |thi |bi )*(?:gay )?(?:anh huong|tac dong)\b",
    re.IGNORECASE,
)
_EFFECT_EN = re.compile(
    rf"^(?:{alternatives('effects.effect_en')})\s+(?P<cause>.+?)\s+"
    r"(?:have an? (?:effect|impact|influence)|affect|impact|influence)\b",
    re.IGNORECASE,
)
_CONSEQUENCE: dict[Language, str] = {
    "vi": "Hậu quả và hình thức xử lý khi {cause}",
    "en": "What are the consequences of {cause}?",
}
_MAX_WORDS = 6


def consequence_query(query: str, language: Language) -> str:
    """The further question about what follows from the cause in an effect question; empty for other questions."""
    bare = normalise(query)
    pattern = _EFFECT_EN if language == "en" else _EFFECT_VI
    mark = pattern.search(bare) or _EFFECT_FOLDED.search(bare)
    if mark is None or len(mark["cause"].split()) > _MAX_WORDS or Part.of(mark["cause"]).weight < _NAMED:
        return ""
    return _CONSEQUENCE[language].format(cause=lower_first(mark["cause"]))


_NAMED = 0.9
