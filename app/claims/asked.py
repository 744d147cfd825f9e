"""What a question wants to know, as far as it tells which values are compared; and words that tell cases apart."""

import re
from functools import lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple

from app.claims.marks import unit_named
from app.text.language import fold, normalise, words

_GROUPS: tuple[tuple[str, ...], ...] = (
    (
        "full-time|full time|toàn thời gian|permanent|chính thức",
        "part-time|part time|bán thời gian|temporary|seasonal|thời vụ",
        "probation\\w*|thử việc",
        "interns?|trainees?|thực tập\\w*",
        "contractors?|nhà thầu|cộng tác viên",
    ),
    (
        "domestic|in the country|within the country|trong nước|nội địa",
        "international|abroad|overseas|nước ngoài|quốc tế",
    ),
    ("managers?|directors?|executives?|quản lý|lãnh đạo|giám đốc", "specialists?|chuyên môn|nhân viên thường"),
    (
        "below|under|less than|up to|small|dưới|nhỏ",
        "above|over|more than|or more|large|trên|trở lên|từ \\d[\\d.,]* (?:triệu|đồng|nghìn)|lớn",
    ),
    ("cars?|ô tô|xe hơi", "motorbikes?|motorcycles?|xe máy", "bicycles?|bikes?|xe đạp"),
    ("weekdays?|ngày thường|ngày làm việc", "weekends?|holidays?|cuối tuần|ngày lễ|ngày nghỉ"),
    ("day shift|ca ngày", "night shift|ca đêm"),
    ("first year|năm đầu", "second year|năm thứ hai|after \\w+ years|đủ \\d+ năm|thâm niên"),
    ("men|male|fathers?|paternity|nam|chồng", "women|female|mothers?|maternity|nữ|vợ|thai sản"),
)
"""Alternatives of one matter: a rule for one says nothing of the others."""
_CASES = tuple(
    tuple(re.compile(rf"\b(?:{alternative})\b", re.IGNORECASE) for alternative in group) for group in _GROUPS
)


_EXTRA = re.compile(
    r"\b(?:additional|extra|another)\s\S+|\b\S+\s(?:more|additional|extra)\s(?!than\b)\w+|\bthêm\s\d+"
    r"|\b(?:also|as well|cũng|ngoài ra)\b",
    re.IGNORECASE,
)
"""What comes on top says nothing of what it is added to."""


def is_other_case(one: str, other: str) -> bool:
    """Whether two texts name different alternatives of one matter and none in common, or one what is added."""
    one, other = normalise(one), normalise(other)
    if bool(_EXTRA.search(one)) != bool(_EXTRA.search(other)):
        return True
    for group in _CASES:
        mine = {at for at, case in enumerate(group) if case.search(one)}
        theirs = {at for at, case in enumerate(group) if case.search(other)}
        if mine and theirs and not mine & theirs:
            return True
    return False


Want = Literal["amount", "time", "person", "place", "thing", "list", "yes_no"]
_CUES: tuple[tuple[Want, str], ...] = (
    (
        "list",
        r"gom nhung gi|nhung gi|cac buoc|nhung (?:ngay|giay to|ai|ho so)|what are|which \w+s\b|what \w+s (?:do|are)\b",
    ),
    (
        "amount",
        r"bao nhieu|bao lau|may (?!gio)\w+|muc|toi da|toi thieu|how (?:many|much|long|soon|often|far|old|big)"
        r"|(?:what|which) (?:share|percent\w*|amount|cost|limit|price|rate|number|population|length)"
        r"|(?:what|which) is the (?:limit|cap|maximum)",
    ),
    (
        "time",
        r"khi nao|luc nao|may gio|ngay nao|thang nao|thu may|han (?:cuoi|chot)|bao gio|\bwhen\b|until|deadline"
        r"|(?:what|which) (?:time|day|date|year)",
    ),
    ("person", r"\bai\b|nguoi nao|\bwho(?:m|se)?\b"),
    (
        "place",
        r"o dau|dau\b|phong nao|tang may|cho nao|noi nao|dia diem|\bwhere\b"
        r"|(?:what|which) (?:room|floor|building|city|country)",
    ),
    ("thing", r"\bnao\b|la gi|cai gi|qua dau|\bwhich\b|\bwhat\b|how do i|mang theo gi"),
    (
        "yes_no",
        r"\bco (?:duoc|phai|can|bi|the)\b.*\bkhong\b|khong$"
        r"|^(?:can|may|must|do|does|is|are|am|should|will|has|have)\b",
    ),
)
_READ: tuple[tuple[Want, re.Pattern[str]], ...] = tuple((want, re.compile(pattern)) for want, pattern in _CUES)


_WHICH, _WHICH_AFTER = frozenset({"which", "what"}), frozenset({"nao", "may"})


class Asked(NamedTuple):
    """A question, read."""

    wants: frozenset[Want]
    """Empty for a question that says nothing of it: then everything is compared."""
    units: frozenset[str]
    """Kinds of marks it names: ``room`` in “in which room …”."""
    words: frozenset[str]
    """Folded."""


@lru_cache(maxsize=512)
def read_asked(question: str) -> Asked:
    """Read a question of either language, with or without diacritics."""
    folded = fold(normalise(question)).lower().strip(" ?.!")
    spoken = [fold(word) for word in words(question)]
    wants = frozenset(want for want, pattern in _READ if pattern.search(folded))
    pairs = [" ".join(pair) for pair in pairwise(spoken)]
    units = frozenset(unit for word in (*spoken, *pairs) if (unit := unit_named(word)))
    return Asked(wants, units, frozenset(spoken))


@lru_cache(maxsize=512)
def units_asked(question: str) -> frozenset[str]:
    """Kinds of marks it asks for by “which”: ``floor`` in “on which floor”, ``room`` in “phòng nào”."""
    spoken = ["", *(fold(word) for word in words(question)), ""]
    found = (
        unit_named(" ".join(spoken[at:end]))
        for at in range(1, len(spoken) - 1)
        for end in (at + 1, at + 2)
        if spoken[at - 1] in _WHICH or (end < len(spoken) and spoken[end] in _WHICH_AFTER)
    )
    return frozenset(filter(None, found))
