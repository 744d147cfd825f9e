"""Days of the week told alike: names of both languages, stretches of them, working days and weekends."""

import re
from functools import lru_cache

_EN = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_VI = ("thứ hai", "thứ ba", "thứ tư", "thứ năm", "thứ sáu", "thứ bảy", "chủ nhật")
_BARE = ("thu hai", "thu ba", "thu tu", "thu nam", "thu sau", "thu bay", "chu nhat")
_NUMBERED = tuple(f"thứ {number}" for number in range(2, 8))
_PLACES = {name: at for names in (_EN, _VI, _BARE, _NUMBERED) for at, name in enumerate(names)}
_NAME = "|".join(sorted((re.escape(name) for name in _PLACES), key=len, reverse=True))
_ONE = re.compile(rf"(?<!lần )(?<!\w)(?:{_NAME})s?(?!\w)(?! (?:trong tháng|trở đi|liên tiếp))", re.IGNORECASE)
_STRETCH = re.compile(
    rf"(?<!\w)(?P<a>{_NAME})s?\s*(?:đến|tới|to|through|until|–|-)\s*(?P<b>{_NAME})s?(?!\w)", re.IGNORECASE
)
_WORKDAY = re.compile(
    r"ngày làm việc bình thường|ngày thường|ngày trong tuần|weekdays?|ordinary (?:day|working day)s?|"
    r"normal working days?",
    re.I,
)
_WEEKEND = re.compile(
    r"ngày nghỉ hằng tuần|ngày nghỉ hàng tuần|cuối tuần|weekends?|rest days?|days? off", re.IGNORECASE
)


@lru_cache(maxsize=8192)
def with_days(text: str) -> str:
    """The text with every day of the week it speaks of in English words: “Monday to Friday” names five."""
    told: list[str] = []
    for mark in _STRETCH.finditer(text):
        first, last = _PLACES[mark["a"].lower()], _PLACES[mark["b"].lower()]
        told += _EN[first : last + 1]
    plain = _STRETCH.sub(" ", text)
    told += [_EN[_PLACES[_singular(mark[0])]] for mark in _ONE.finditer(plain)]
    if _WORKDAY.search(text):
        told += _EN[:5]
    if _WEEKEND.search(text):
        told += _EN[5:]
    return f"{_ONE.sub(' ', plain)} {' '.join(dict.fromkeys(told))}" if told else text


def _singular(name: str) -> str:
    low = name.lower()
    return low if low in _PLACES else low.removesuffix("s")
