"""What a sentence does with what it speaks of: allow, forbid, demand, leave open, or deny it; both languages."""

import re

from app.claims.record import Polarity

_WORDS: tuple[tuple[Polarity, str], ...] = (
    (
        "exempt",
        r"\bnot (?:be )?(?:required|necessary|mandatory|obligatory|needed)\b"
        r"|\b(?:need|do|does)(?: not|n['’]t) (?:have|need) to\b|\bneed(?: not|n['’]t)\b|\bno need\b"
        r"|\bno longer (?:required|needed|necessary)\b|\b(?:optional|voluntary|exempt)\b"
        r"|\bkhông (?:còn )?(?:cần|phải|bắt buộc|yêu cầu)\b|\b(?:được miễn|tự nguyện|tùy chọn|tuỳ chọn)\b",
    ),
    (
        "forbidden",
        r"\b(?:may|must|can|should|shall|could)(?: not|n['’]t)\b|\bcan['’]t\b|\bcannot\b"
        r"|\bnot (?:be )?(?:allowed|permitted|eligible|entitled)\b|\bno longer (?:allowed|permitted)\b"
        r"|\b(?:prohibited|forbidden|banned)\b|\bkhông (?:còn )?(?:được|thể|có quyền|cho phép)\b|\b(?:nghiêm )?cấm\b",
    ),
    (
        "required",
        r"\b(?:must|required|requires?|has to|have to|needs? to|mandatory|compulsory|obligatory|shall)\b"
        r"|\b(?:phải|bắt buộc|cần)\b",
    ),
    ("denied", r"\b(?:do|does|did|is|are|was|were|will|has|have)(?: not|n['’]t)\b|\bno longer\b|\bkhông\b"),
    (
        "allowed",
        r"\b(?:may|can|allowed|permitted|eligible|entitled|free to|welcome)\b|\b(?:được|có thể|cho phép|có quyền)\b",
    ),
)
_CUES = tuple((polarity, re.compile(pattern, re.IGNORECASE)) for polarity, pattern in _WORDS)
_OPPOSED = frozenset(
    frozenset(pair)
    for pair in (
        ("allowed", "forbidden"), ("required", "exempt"), ("required", "forbidden"), ("stated", "denied"),
        ("allowed", "denied"), ("required", "denied"), ("stated", "forbidden"),
    )
)  # fmt: skip
"""Pairs that cannot both hold; who must may as well, and what need not be done may still be allowed or forbidden."""
_EXCEPTION = re.compile(r"\b(?:unless|except|other than|apart from|ngoại trừ|trừ)\b", re.IGNORECASE)
_MODALS = """
    may must can cannot allowed permitted eligible entitled required require requires mandatory optional voluntary
    compulsory prohibited forbidden banned need needs not don doesn phai duoc khong cam bat buoc can cho phep quyen mien
    nghiem the co
    """
_MODAL_WORDS = frozenset(_MODALS.split())


def polarity_of(sentence: str) -> Polarity:
    """The first that applies, from what leaves open to what allows; ``stated`` without any cue."""
    return next((polarity for polarity, cue in _CUES if cue.search(sentence)), "stated")


def opposes(one: Polarity, other: Polarity) -> bool:
    """Whether the same thing cannot be both."""
    return frozenset((one, other)) in _OPPOSED


def makes_exception(sentence: str) -> bool:
    """Whether the sentence leaves some case out, so that the contrary may hold there."""
    return bool(_EXCEPTION.search(sentence))


def without_modals(words: frozenset[str]) -> frozenset[str]:
    """Folded words without those that only say may, must or not."""
    return words - _MODAL_WORDS
