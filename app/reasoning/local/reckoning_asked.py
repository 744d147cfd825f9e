"""What a question wants reckoned that names all its operands; decided on its words, before anything is read.

Several sums in one question (“tính 2+4 và 9-3”, “what is 2+4, and what is 9-3?”) are asked each by itself: a part that
is more than a sum in digits, or less, leaves the question as it stands.
"""

import re
from functools import lru_cache

from app.reasoning.local.date_questions import date_asked
from app.reasoning.local.measure_questions import measure_asked
from app.reasoning.local.pure_arithmetic import pure_expression
from app.reasoning.local.reckoning import Reckoning, stated_relation, sum_of
from app.text.language import normalise

_MOST = 10
_JOINT = re.compile(
    r"(?:\s*[;\n]\s*|\s*,\s+|(?<=\?)\s+)(?:(?:và|va|and|rồi|roi|then)\s+)?|\s+(?:và|va|and|rồi|roi|then|cùng với)\s+",
    re.IGNORECASE,
)
_NUMBER = r"[(+-]*\s*\d+(?:[.,]\d+)*\s*%?\s*\)*"
_SUM = re.compile(
    r"(?P<lead>(?:(?:hãy|hay|please|xin|giúp tôi|giup toi)\s+)?(?:tính|tinh|calculate|compute|work out|what is|what's|"
    r"how much is|kết quả của|ket qua cua)\s+)?"
    rf"(?P<sum>{_NUMBER}(?:\s*(?:\*\*|[-−–+*×·x/÷:^])\s*{_NUMBER})+)"
    r"\s*(?:=|bằng|bang|là|la|equals?)?\s*(?:mấy|may|bao nhiêu|bao nhieu|\?+)?\s*[?.!]*",
    re.IGNORECASE,
)
_PLAIN_SIGN = re.compile(r"[+*×÷^=]")
"""A part without a word before it may be a day (``3/2``), a range (``9-3``) or a time (``8:30``); not with these."""


@lru_cache(maxsize=512)
def sums_in(query: str) -> tuple[str, ...]:
    """The sums a question consists of, each as a question of its own; empty for anything but two or more of them."""
    parts = [part.strip() for part in _JOINT.split(normalise(query)) if part.strip(" ?!.")]
    if not 2 <= len(parts) <= _MOST:
        return ()
    found, lead = list[str](), ""
    for part in parts:
        match = _SUM.fullmatch(part)
        lead = match["lead"] or lead if match else ""
        if not match or not (lead or _PLAIN_SIGN.search(part)) or pure_expression(match["sum"]) is None:
            return ()
        found.append(f"{lead}{match['sum'].strip()}".strip())
    return tuple(dict.fromkeys(found))


@lru_cache(maxsize=512)
def reckoning_asked(query: str) -> Reckoning | None:
    """The sum, conversion or day a question asks for; None when documents have to be searched.

    Sure or nothing: a question that says anything else as well is not taken, nor are several sums.
    """
    if sums_in(query):
        return None
    return date_asked(query) or measure_asked(query) or _pure(query) or stated_relation(query)


def _pure(query: str) -> Reckoning | None:
    pure = pure_expression(query)
    if pure is None:
        return None
    return sum_of(pure.expression, pure.grounds, unit=pure.unit, is_stated=pure.is_stated)
