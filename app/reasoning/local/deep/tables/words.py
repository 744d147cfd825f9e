"""What questions call columns and values."""

import re

from app.reasoning.local.deep.sayings import words_of
from app.reasoning.local.deep.tables.rows import Column, Table
from app.reasoning.local.glossary import stem
from app.text.language import fold

_WORD = re.compile(r"[^\W_]+")
_SAME = (
    "chi phi cost costs expense expenses spent spend spending chi tien",
    "doanh thu revenue turnover sales doanh so",
    "luong salary salaries wage pay",
    "phong ban phong department departments dept bo phan",
    "so luong quantity qty sl units pieces",
    "don gia unit_price price prices gia",
    "so tien amount money tien value",
    "ngay date day",
    "nhan vien employee employees staff ho ten name ten ai nguoi who",
    "khach hang customer customers client clients khach",
    "san pham product products item items mat hang hang hoa",
    "du an project projects",
    "kho warehouse",
    "ton kho ton in_stock stock",
    "gio hours hour so gio",
    "diem score scores point points",
    "tuoi age",
    "thanh pho city cities",
    "quoc gia country countries",
    "nha cung cap supplier suppliers vendor vendors",
    "trang thai status state",
    "loai category type hang muc",
    "tram station cam bien sensor",
    "nhiet do temperature",
    "ngan sach budget",
    "nam year",
    "thang month",
    "chuc vu position role title",
    "khu vuc region area",
    "don order orders",
    "bao gia quote offer",
    "thoi gian time duration",
    "tham nien seniority years",
)
_GROUPS = tuple(frozenset(group.replace("_", " ").split()) | frozenset(group.split()) for group in _SAME)
_SKIPPED = words_of("so the of va cua a an no number id ma cac lan")


def tokens(text: str) -> list[str]:
    """Folded words, English endings cut."""
    return [stem(word) for word in re.findall(r"[^\W_]+", fold(text).lower())]


def flat(text: str) -> str:
    """Folded words with single spaces, one at either end."""
    return f" {' '.join(_WORD.findall(fold(text).lower()))} "


def spoken_of(column: Column, said: str) -> float:
    """How much of a column's name a question says, 0–1; the name itself counts more than other words for it."""
    words = [word for word in tokens(column.plain) if word not in _SKIPPED] or tokens(column.plain)
    spoken = set(tokens(said))
    if not words:
        return 0.0
    if f" {column.plain} " in flat(said):
        return 1.0
    own = sum(word in spoken for word in words) / len(words)
    other = sum(any(word in group and group & spoken for group in _stemmed_groups()) for word in words) / len(words)
    return max(0.95 * own, 0.6 * other)


def _stemmed_groups() -> list[frozenset[str]]:
    return [frozenset(stem(word) for word in group) for group in _GROUPS]


def named(columns: tuple[Column, ...], said: str, least: float = 0.45) -> list[Column]:
    """The columns a question names, the clearest first."""
    ranked = sorted(((spoken_of(one, said), -one.at, one) for one in columns), key=lambda pair: (-pair[0], -pair[1]))
    return [one for score, _, one in ranked if score >= least]


def values_said(table: Table, said: str) -> list[tuple[Column, str, int]]:
    """Values of text columns that the question says, with their place; a value inside a longer one is left out."""
    text = flat(said)
    found: list[tuple[Column, str, int]] = []
    for column in table.textual:
        for value in table.values(column):
            words = flat(value).strip()
            at = text.find(f" {words} ") if words else -1
            if at >= 0 and (len(words) > 1 or value in said):
                found.append((column, value, at))
    longest = sorted(found, key=lambda one: -len(one[1]))
    kept: list[tuple[Column, str, int]] = []
    for one in longest:
        end = one[2] + len(one[1])
        if not any(other[2] <= one[2] and end <= other[2] + len(other[1]) and other[0] == one[0] for other in kept):
            kept.append(one)
    return sorted(kept, key=lambda one: one[2])
