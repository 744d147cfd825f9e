"""Words that tell one case from another: full-time and part-time, at home and abroad, in this year and in that."""

import re

from app.text.language import normalise

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
