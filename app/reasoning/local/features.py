"""What is measured on the pieces of passages for one question; nothing is decided here."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from app.domain.knowledge import Language, Passage
from app.reasoning.local.numbers import Amount, amounts_in, ranges_in, strictly
from app.reasoning.local.pieces import Unit, bare_heading, readable, units_of, with_heading
from app.reasoning.local.terms import EMPTY, Bag, bag_of, glossary, stem
from app.text.language import content_words, fold, is_unaccented_vietnamese, normalise, words

Numbers = npt.NDArray[np.float64]
WORD_FEATURES = (
    "own", "own_folded", "context", "near", "pairs", "concepts", "heading", "title", "names_missing", "label",
    "similarity", "relevance", "rank", "opens", "place", "length", "item", "step", "row", "introduces", "holds",
    "fails", "number", "foreign", "own_department", "outdated", "age", "not_in_force",
    "guideline", "faq", "notice",
)  # fmt: skip
"""What words and places tell of a piece."""
FEATURES = (
    *WORD_FEATURES,
    *(f"{name}_below_best" for name in WORD_FEATURES),
    "unseen",
    "folded",
    "cosine",
    "cosine_below_best",
)
"""Names of the columns of `features_of`: the piece, how far it is below the best one, the question, vectors."""
_SAME_TIME = 30
"""Days between two documents of which neither is the newer one."""
_FULL_LENGTH = math.log(400)
_LABEL_WORDS = 6


@dataclass(frozen=True, slots=True)
class Candidate:
    """A piece with its surroundings."""

    passage: Passage
    rank: int
    """0-based position of its passage among those found."""
    unit: Unit
    opens: bool
    """Whether it is the first piece under its heading."""
    place: float
    """Where in the passage it stands, 0–1."""
    near: str
    """The text of the pieces right before and after it in its paragraph, list or table."""

    @property
    def context(self) -> tuple[str, ...]:
        """What stands above it: heading, section, title, introducing sentence, table header."""
        unit, passage = self.unit, self.passage
        parts = (unit.heading, passage.section, passage.title, unit.lead, " ".join(unit.header))
        return tuple(dict.fromkeys(part for part in parts if part))

    @property
    def read(self) -> tuple[str, str]:
        """What a model reads: title, heading and introducing sentence; the piece."""
        above = " › ".join(dict.fromkeys(part for part in (self.passage.title, self.unit.heading) if part))
        return f"{above}. {self.unit.lead}" if self.unit.lead else above, readable(self.unit)


def candidates_of(passages: Sequence[Passage]) -> list[Candidate]:
    """Every piece of every passage in order."""
    found: list[Candidate] = []
    for rank, passage in enumerate(passages):
        units = [with_heading(unit, passage.section or passage.title) for unit in units_of(passage.text)]
        for at, unit in enumerate(units):
            beside = [other.text for other in units[max(0, at - 1) : at + 2] if other.block == unit.block]
            opens = at == 0 or units[at - 1].heading != unit.heading
            place = at / max(1, len(units) - 1)
            found.append(Candidate(passage, rank, unit, opens, place, " ".join(beside)))
    return found


@dataclass(frozen=True, slots=True)
class Asked:
    """A question's words, weighed by how rare they are among the pieces of this run."""

    text: str
    language: Language
    folded: bool
    """Vietnamese without diacritics."""
    weights: dict[str, float]
    folded_weights: dict[str, float]
    pairs: dict[tuple[str, str], float]
    concepts: frozenset[int]
    names: frozenset[str]
    """Stems of words written with a capital or a digit."""
    conditions: tuple[Amount, ...]
    """Amounts the asker states, a little beyond themselves after “more than” and “less than”."""
    unseen: float
    """Share of the words that no piece of this run mentions."""

    @classmethod
    def of(cls, text: str, language: Language, candidates: Sequence[Candidate]) -> "Asked":
        """Read a question against the pieces it is asked of."""
        spelt = normalise(text)
        folded = is_unaccented_vietnamese(spelt)
        bags = [_whole_bag(candidate, folded) for candidate in candidates]
        bare = bags if folded else [_whole_bag(candidate, True) for candidate in candidates]
        stems = [stem(fold(word) if folded else word) for word in content_words(spelt)]
        bag = bag_of(spelt, folded)
        told = {word: sum(word in one.stems for one in bags) for word in stems}
        weights = {word: _rarity(holders, len(bags)) for word, holders in told.items() if holders}
        flat = {stem(fold(word)) for word in content_words(spelt)}
        folded_told = {word: sum(word in one.stems for one in bare) for word in flat}
        pairs = {pair: sum(pair in one.pairs for one in bags) for pair in bag.pairs}
        stated = tuple(amount for amount in amounts_in(spelt, language) if amount.unit)
        return cls(
            text=spelt, language=language, folded=folded, weights=weights,
            folded_weights={word: _rarity(holders, len(bags)) for word, holders in folded_told.items() if holders},
            pairs={pair: _rarity(holders, len(bags)) for pair, holders in pairs.items() if holders},
            concepts=bag.concepts, names=_names_in(spelt, folded),
            conditions=tuple(strictly(spelt, amount) for amount in stated),
            unseen=sum(not holders for holders in told.values()) / max(1, len(told)),
        )  # fmt: skip

    def share(self, bag: Bag) -> float:
        """Share of the question's weight that a text mentions, 0–1."""
        return _share(self.weights, bag.stems)


def _rarity(holders: int, size: int) -> float:
    return 0.3 + math.log((size + 1) / (holders + 1))


def _share(weights: dict[str, float], stems: frozenset[str]) -> float:
    total = sum(weights.values())
    return sum(weight for word, weight in weights.items() if word in stems) / total if total else 0.0


def _names_in(text: str, folded: bool) -> frozenset[str]:
    """Stems of words with a digit, or with a capital anywhere but at the beginning."""
    tokens = (fold(text) if folded else text).replace("-", " ").split()
    bare = [token.strip(".,;:?!()“”\"'") for token in tokens]
    marked = [
        token for at, token in enumerate(bare)
        if token and token != "I" and ((at and token[0].isupper()) or any(map(str.isdigit, token)))
    ]  # fmt: skip
    if len(marked) * 2 > len(tokens):  # typed in capitals throughout
        return frozenset()
    return frozenset(stem(word) for token in marked for word in words(token))


@lru_cache(maxsize=8192)
def _bag_of_parts(parts: tuple[str, ...], folded: bool) -> Bag:
    bag = EMPTY
    for part in parts:
        bag = bag | bag_of(part, folded)
    return bag


def _whole_bag(candidate: Candidate, folded: bool) -> Bag:
    return _bag_of_parts((candidate.unit.text, *candidate.context), folded)


def features_of(
    asked: Asked, candidates: Sequence[Candidate], cosines: Numbers, department: str, today: date | None = None
) -> Numbers:
    """Shape (pieces, `FEATURES`).

    Args:
        asked: The question.
        candidates: The pieces, at least one.
        cosines: Of question and pieces; nan where they were not compared.
        department: The asker's.
        today: The day the answer is for; none = nothing is too old or too early.
    """
    validity = _validity_of({one.passage.chunk_id: one.passage for one in candidates}.values(), today)
    rows = np.array(
        [(*_row(asked, one, department), *validity[one.passage.chunk_id]) for one in candidates], np.float64
    )
    whole = np.tile([asked.unseen, float(asked.folded), np.nan, np.nan], (len(rows), 1))
    return with_cosines(np.column_stack([rows, rows - rows.max(axis=0), whole]), cosines)


def with_cosines(features: Numbers, cosines: Numbers) -> Numbers:
    """The same features with other cosines."""
    best = np.nan if np.isnan(cosines).all() else np.nanmax(cosines)
    return np.column_stack([features[:, :-2], cosines, cosines - best])


def _row(asked: Asked, candidate: Candidate, department: str) -> tuple[float, ...]:
    passage, unit = candidate.passage, candidate.unit
    own, whole = bag_of(unit.text, asked.folded), _whole_bag(candidate, asked.folded)
    number = float(any(map(str.isdigit, unit.text)))
    holds, fails = _range_verdict(asked, unit, passage)
    pairs = sum(asked.pairs.values())
    return (
        asked.share(own),
        _share(asked.folded_weights, bag_of(unit.text, True).stems),
        asked.share(whole),
        asked.share(bag_of(candidate.near, asked.folded) | whole),
        sum(weight for pair, weight in asked.pairs.items() if pair in own.pairs) / pairs if pairs else 0.0,
        _concept_share(asked, whole),
        _heading_match(asked, unit.heading, passage.title),
        asked.share(bag_of(passage.title, asked.folded)),
        len(asked.names - whole.stems) / len(asked.names) if asked.names else 0.0,
        _label_match(asked, unit),
        passage.similarity,
        passage.relevance_score,
        1 / (1 + candidate.rank),
        float(candidate.opens),
        candidate.place,
        min(math.log(1 + len(unit.text)) / _FULL_LENGTH, 1.2),
        float(unit.kind == "item"),
        float(unit.kind == "step"),
        float(unit.kind == "row"),
        float(unit.text.rstrip("* ").endswith(":")),
        holds,
        fails,
        number,
        float(passage.language != asked.language),
        float(bool(department) and passage.department == department),
    )


def _validity_of(passages: Iterable[Passage], today: date | None) -> dict[object, tuple[float, ...]]:
    """By chunk: how much of it newer passages of other documents are about, years behind them (0–1, of three),
    whether it is not in force, and what kind of document it stands in."""
    held = [
        (one, one.effective_from or one.created_at.date(), bag_of(f"{one.title} {one.text}", True)) for one in passages
    ]
    found: dict[object, tuple[float, ...]] = {}
    for passage, day, bag in held:
        newer = [
            (len(bag.stems & other.stems) / (len(bag.stems) + 1), (later - day).days)
            for one, later, other in held
            if (later - day).days > _SAME_TIME and one.document_id != passage.document_id
        ]
        shared, days = max(newer, default=(0.0, 0))
        ended = today is not None and passage.effective_to is not None and passage.effective_to < today
        early = today is not None and day > today
        kinds = (float(passage.authority == kind) for kind in ("guideline", "faq", "notice"))
        found[passage.chunk_id] = (shared, min(days / 1095, 1.0) * shared, float(ended or early), *kinds)
    return found


def _concept_share(asked: Asked, bag: Bag) -> float:
    weights = glossary().weights
    total = sum(weights[concept] for concept in asked.concepts)
    return sum(weights[concept] for concept in asked.concepts & bag.concepts) / total if total else 0.0


def _heading_match(asked: Asked, heading: str, title: str) -> float:
    """How far a heading asks the same as the question, 0–1; the document's title may supply the subject."""
    bare = bare_heading(heading)
    if not bare:
        return 0.0
    forward = asked.share(bag_of(bare, asked.folded) | bag_of(title, asked.folded))
    told = [stem(fold(word) if asked.folded else word) for word in content_words(bare)]
    backward = sum(word in asked.weights for word in told) / len(told) if told else 0.0
    return 2 * forward * backward / (forward + backward) if forward and backward else 0.0


def _label_match(asked: Asked, unit: Unit) -> float:
    """Share of a row's first cell, or of what stands before an item's colon, that the question names."""
    label = unit.cells[0] if unit.kind == "row" and unit.cells else unit.text.partition(":")[0]
    if unit.kind == "sentence" or label == unit.text or len(label.split()) > _LABEL_WORDS:
        return 0.0
    told = [stem(fold(word) if asked.folded else word) for word in content_words(label)]
    return sum(word in asked.weights for word in told) / len(told) if told else 0.0


def _range_verdict(asked: Asked, unit: Unit, passage: Passage) -> tuple[float, float]:
    """(1, 0) when the piece states an amount of the asker or a range that holds it, (0, 1) when it excludes them."""
    if not asked.conditions:
        return 0.0, 0.0
    text = unit.cells[0] if unit.kind == "row" and unit.cells else unit.text
    language: Language = "en" if passage.language == "en" else "vi"
    is_row = unit.kind == "row"
    judged = [
        found.holds(amount)
        for amount in asked.conditions
        for found in ranges_in(text, language)
        if found.unit == amount.unit or (is_row and not found.unit)
    ]
    if not judged:
        stated = {(amount.value, amount.unit) for amount in amounts_in(text, language)}
        return float(any((amount.value, amount.unit) in stated for amount in asked.conditions)), 0.0
    return (1.0, 0.0) if any(judged) else (0.0, 1.0)
