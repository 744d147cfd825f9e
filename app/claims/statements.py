"""Disagreements that lie in no value: what is allowed and forbidden, other words in the place of the answer."""

import re
from collections.abc import Iterator, Set
from difflib import SequenceMatcher
from itertools import product
from typing import NamedTuple

from app.claims.record import Clash, Text, Value, dice_of, makes_exception, opposes, overlap_of, without_modals
from app.claims.sentences import Asked, Said, plain_claim
from app.text.language import content_words, fold, normalise, words
from app.text.numerals import is_english_number

_TOKEN = re.compile(r"[^\W_]+(?:[-.,@:/’'](?=[^\W_])[^\W_]+)*")
_TOKENS = 120
"""Of a sentence; more stand only in lists without full stops."""


class Span(NamedTuple):
    """Words of both sides in one place; one side may have none."""

    one: str
    other: str


class Alignment(NamedTuple):
    """What `aligned` found."""

    ratio: float
    """Share of the words that stand on both sides in one order, 0–1."""
    spans: tuple[Span, ...]
    """Where they differ, in order."""


def aligned(one: str, other: str) -> Alignment:
    """Lay two sentences side by side; the same both ways but for the sides of the spans."""
    if (len(other), other) < (len(one), one):
        turned = aligned(other, one)
        return Alignment(turned.ratio, tuple(Span(span.other, span.one) for span in turned.spans))
    mine, theirs = tokens_of(one), tokens_of(other)
    matcher = SequenceMatcher(None, [t.lower() for t in mine], [t.lower() for t in theirs], autojunk=False)
    spans = tuple(
        Span(" ".join(mine[a:b]), " ".join(theirs[c:d])) for tag, a, b, c, d in matcher.get_opcodes() if tag != "equal"
    )
    return Alignment(matcher.ratio(), spans)


def tokens_of(text: str) -> list[str]:
    """Words, codes and addresses of a text, as written."""
    return _TOKEN.findall(normalise(text))[:_TOKENS]


PERMISSION, WORDING = "permission", "wording"
"""Kinds of claims that are no amounts and no marks."""
_SHARED_WORDS, _SAME_ACT = 2, 0.6
"""Least words two sentences share to speak of one act, and least share."""
_LAID_BESIDE, _LAID_BESIDE_APART = 0.5, 0.6
"""Least share of words in common for other words to stand in the same place: versions of a page, two documents."""
_SPAN_WORDS = 6
_STEM = 4
_QUANTIFIERS = frozenset({"all", "only", "any", "every", "moi", "tat", "chi", "toan"})


def permissions(asked: Asked, mine: list[Said], theirs: list[Said], *, is_one_page: bool) -> Iterator[Clash]:
    """The same act allowed and forbidden; of two documents only what answers a question for yes or no in like words."""
    if not is_one_page and "yes_no" not in asked.wants:
        return
    for left, right in product(mine, theirs):
        if not opposes(left.polarity, right.polarity) or makes_exception(f"{left.text} {right.text}"):
            continue
        acts = without_modals(left.subject), without_modals(right.subject)
        overlap = overlap_of(*acts) if is_one_page else dice_of(*acts)
        if len(acts[0] & acts[1]) >= _SHARED_WORDS and overlap >= _SAME_ACT:
            yield Clash(
                plain_claim(left.text, PERMISSION, frozenset({left.polarity}), (left.text,)),
                plain_claim(right.text, PERMISSION, frozenset({right.polarity}), (right.text,)),
                overlap,
            )


def wordings(
    asked: Asked, one: Text, other: Text, mine: list[Said], theirs: list[Said], *, is_one_page: bool
) -> Iterator[Clash]:
    """Other words where the answer stands: both sentences run alike but for one place."""
    if not asked.wants & {"person", "place", "thing"}:
        return
    least = _LAID_BESIDE if is_one_page else _LAID_BESIDE_APART
    for left, right in product(mine, theirs):
        laid = aligned(left.text, right.text)
        spans = [span for span in laid.spans if _telling(asked, span.one) or _telling(asked, span.other)]
        if laid.ratio < least or len(spans) != 1:
            continue
        a, b = _telling(asked, spans[0].one), _telling(asked, spans[0].other)
        if a and b and not share_a_stem(a, b) and max(len(a), len(b)) <= _SPAN_WORDS:
            yield Clash(
                plain_claim(left.text, WORDING, frozenset(a), (spans[0].one,)),
                plain_claim(right.text, WORDING, frozenset(b), (spans[0].other,)),
                laid.ratio,
            )


def _telling(asked: Asked, span: str) -> frozenset[str]:
    """What a span says that neither the question nor a figure says: figures are compared as amounts."""
    spoken = frozenset(fold(word) for word in content_words(span) if not word.isdigit() and not is_english_number(word))
    said = without_modals(spoken) - asked.words
    return said | (_QUANTIFIERS.intersection(map(fold, words(span))) if "person" in asked.wants else said)


def share_a_stem(one: Set[Value], other: Set[Value]) -> bool:
    """Whether a word stands on both sides, in another form perhaps (``enter``, ``entering``)."""
    return bool({str(word)[:_STEM] for word in one} & {str(word)[:_STEM] for word in other})
