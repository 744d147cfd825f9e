"""Disagreements that lie in no value: what is allowed and forbidden, lists, other words in the place of the answer."""

import re
from collections.abc import Iterator, Set
from difflib import SequenceMatcher
from itertools import product
from typing import NamedTuple

from app.claims.record import Claim, Clash, Text, Value, dice_of, makes_exception, opposes, overlap_of, without_modals
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


_ITEM = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+(?P<text>.+)$")
_END = re.compile(r"[.;:\n]+")
_LETTERS = 500
"""A longer stretch without any stop is no sentence, and would be tried in too many ways."""
_ROW = re.compile(r"(?P<head>[^,]+(?:,\s[^,]+)+?),?\s(?:and|or|và|hoặc)\s(?P<last>[^,]+)")
_LEAST = 2


class Listed(NamedTuple):
    """A list."""

    text: str
    members: frozenset[str]
    """Folded content words of each member, joined."""
    written: dict[str, str]
    """Each member as it stands in the text."""

    def without(self, other: "Listed") -> frozenset[str]:
        """Members the other list has not, also not in more or fewer words."""
        there = [frozenset(member.split()) for member in other.members]
        return frozenset(
            member for member in self.members if not any(_covers(frozenset(member.split()), one) for one in there)
        )


def listed_in(text: str) -> Iterator[Listed]:
    """The bullets of a text as one list, then the rows of its sentences."""
    items = [mark["text"].strip() if (mark := _ITEM.match(line)) else "" for line in text.split("\n")]
    if sum(map(bool, items)) >= _LEAST - 1 and "\n" in text:
        lines = [line.strip() for line in text.split("\n") if line.strip()]
        first = next(at for at, line in enumerate(lines) if _ITEM.match(line))
        before = [lines[first - 1]] if first and not lines[first - 1].endswith((":", ".")) else []
        yield from _listed(text, [*before, *filter(None, items)])
    for sentence in _END.split(text):
        row = _ROW.search(sentence) if len(sentence) <= _LETTERS else None
        if row:
            yield from _listed(text, _members(row["head"], row["last"]))


def _members(head: str, last: str) -> list[str]:
    """Of the first and last member only the word nearest to the others: the sentence goes on there."""
    first, *rest = re.split(r",\s", head)
    return [" ".join(first.split()[-1:]), *rest, " ".join(last.split()[:1])]


def _listed(text: str, members: list[str]) -> Iterator[Listed]:
    written = {" ".join(fold(word) for word in content_words(member)): member for member in members}
    written.pop("", None)
    if len(written) >= _LEAST:
        yield Listed(text, frozenset(written), written)


def _covers(one: frozenset[str], other: frozenset[str]) -> bool:
    return one <= other or other <= one


PERMISSION, LIST, WORDING = "permission", "list", "wording"
"""Kinds of claims that are no amounts and no marks."""
_SHARED_WORDS, _SAME_ACT = 2, 0.6
"""Least words two sentences share to speak of one act, and least share."""
_SAME_LIST = 0.4
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


def lists(asked: Asked, one: Text, other: Text, *, is_one_page: bool) -> Iterator[Clash]:
    """Lists of one thing with other members: of versions any change, of documents members that only each has."""
    if not asked.wants & {"list", "thing", "person"}:
        return
    mine, theirs = list(listed_in(one.quoted)), list(listed_in(other.quoted))
    agreed = {left.members for left in mine} & {right.members for right in theirs}
    for left, right in product(mine, theirs):
        if agreed & {left.members, right.members}:
            continue
        gone, come = left.without(right), right.without(left)
        shared = 1 - min(len(gone) / len(left.members), len(come) / len(right.members))
        differs = bool(gone or come) if is_one_page else bool(gone and come)
        if differs and shared >= _SAME_LIST:
            yield Clash(_list_claim(left, gone), _list_claim(right, come), shared)


def _list_claim(listed: Listed, own: frozenset[str]) -> Claim:
    values: frozenset[Value] = frozenset(listed.members)
    return plain_claim(listed.text, LIST, values, tuple(listed.written[member] for member in sorted(own)))


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
