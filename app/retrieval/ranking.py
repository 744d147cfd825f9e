"""What a score means, how much each leg of a search counts, and in which order the service shows what both found.

From a model's cosine and the words found follows a relevance between 0 and 1. The mean question and passage of each
language are taken out of the vectors first ("centring"), so that unrelated text lies around 0 and questions find
passages in the other language. ``bench/calibrate.py`` fits ``calibration.json``. Words of a question without diacritics
are compared folded; between languages words do not meet, so the vector's place counts for both legs. What is shown is
ordered by relevance and places: ``bench/retrieval.py`` measures that either alone is worse.
"""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from io import BytesIO
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
from pydantic import Field, TypeAdapter

from app.domain.knowledge import Language
from app.domain.record import Record
from app.embedding import Vectors
from app.retrieval.text import Question, Term, TermStatistics
from app.storage.search import Hit
from app.storage.search.statements import MATCHES_RANKED, VectorLeg

PATH = Path(__file__).with_name("calibration.json")


class Curve(Record):
    """Relevance = 1 / (1 + exp(-(cosine · similarity + coverage · share of words + constant)))."""

    cosine: float
    coverage: float
    constant: float

    def at(self, similarity: float, coverage: float) -> float:
        """Relevance of one passage, 0–1."""
        return 1 / (1 + math.exp(-(self.cosine * similarity + self.coverage * coverage + self.constant)))


Mean = tuple[float, ...]
"""One vector, as long as the model's are."""


class Calibration(Record):
    """What was fitted for one embedding model, and how well it does."""

    model: str
    accented: Curve
    unaccented: Curve
    """For questions without diacritics, whose words are compared folded and whose accents are guessed."""
    words: Curve
    """Where a vector cannot be compared: its cosine says nothing."""
    assumed_coverage: float = Field(ge=0, le=1)
    """Share of words taken as found when question and passage are in different languages."""
    query_means: dict[str, Mean] = {}
    """Mean question vector by language; empty = no centring."""
    passage_means: dict[str, Mean] = {}
    date: str = ""
    sources: str = ""
    """What it was fitted on."""
    metrics: dict[str, float] = {}
    """How it did there; names as printed by ``bench/calibrate.py``."""

    @cached_property
    def space(self) -> str:
        """Name of the vectors as stored: the model, and which means were taken out. Other spaces never compare."""
        if not self.passage_means:
            return self.model
        means = repr((sorted(self.query_means.items()), sorted(self.passage_means.items())))
        return f"{self.model}/centred-{hashlib.sha256(means.encode()).hexdigest()[:8]}"

    def centre_queries(self, vectors: Vectors, languages: Sequence[str]) -> Vectors:
        """Question vectors, one language each, moved into this space."""
        return _centre(vectors, languages, self.query_means)

    def centre_passages(self, vectors: Vectors, languages: Sequence[str]) -> Vectors:
        """Passage vectors, one language each, moved into this space; text in a third language uses the mean of both."""
        return _centre(vectors, languages, self.passage_means)

    def relevance(
        self,
        similarity: float,
        coverage: float,
        *,
        same_language: bool,
        unaccented: bool,
        by_words_alone: bool = False,
    ) -> float:
        """How likely a passage bears on the question (0–1). `coverage` is the weighted share of its words found."""
        if by_words_alone:
            return self.words.at(0.0, coverage)
        curve = self.unaccented if unaccented else self.accented
        return curve.at(similarity, coverage if same_language else max(coverage, self.assumed_coverage))


@dataclass(frozen=True)
class QuestionAdapter:
    """A linear step that moves the vectors of questions nearer to passages that answer them; those of passages stay, so
    nothing is embedded again. ``training/reader/questions.py`` fits it (docs/decisions/0032-question-adapter.md)."""

    space: str
    """`Calibration.space` of the vectors it was fitted on; it knows nothing of others."""
    turn: Vectors
    """Shape (dimensions, dimensions)."""
    shift: Vectors
    """Shape (dimensions,)."""

    def move(self, questions: Vectors, space: str) -> Vectors:
        """Questions, shape (questions, dimensions), moved and made of length 1; those of another space stay."""
        if space != self.space or not len(questions):
            return questions
        moved = questions + questions @ self.turn.T + self.shift
        return np.asarray(moved / np.linalg.norm(moved, axis=1, keepdims=True), np.float32)


@cache
def stored_adapter() -> QuestionAdapter:
    """The adapter of the package."""
    return read_adapter(files(__package__).joinpath("adapter.npz").read_bytes())


def read_adapter(content: bytes) -> QuestionAdapter:
    """An adapter from its file."""
    with np.load(BytesIO(content)) as held:
        turn, shift = (held[name].astype(np.float32) for name in ("turn", "shift"))
        return QuestionAdapter(str(held["space"]), turn, shift)


_UNFITTED = Calibration(
    model="",
    accented=Curve(cosine=8.0, coverage=6.0, constant=-6.0),
    unaccented=Curve(cosine=8.0, coverage=6.0, constant=-6.0),
    words=Curve(cosine=0.0, coverage=10.0, constant=-4.5),
    assumed_coverage=0.5,
)
"""For a model nobody calibrated: right for models whose unrelated texts lie near cosine 0.1 and related ones near 0.6.

At half of the words found, relevance passes 0.7 at a cosine of about 0.5. Run ``bench/calibrate.py`` for the model.
"""

FITTED: TypeAdapter[list[Calibration]] = TypeAdapter(list[Calibration])


def load_calibration(model: str, path: Path = PATH) -> Calibration:
    """The calibration fitted for `model`, or the documented default under that name. Reads one small file."""
    for fitted in read_calibrations(path):
        if fitted.model == model:
            return fitted
    return _UNFITTED.model_copy(update={"model": model})


def read_calibrations(path: Path = PATH) -> list[Calibration]:
    """Everything that was fitted so far."""
    return FITTED.validate_json(path.read_bytes()) if path.exists() else []


def _centre(vectors: Vectors, languages: Sequence[str], means: dict[str, Mean]) -> Vectors:
    if not means or not len(vectors):
        return vectors
    by_language: dict[str, Vectors] = {language: np.asarray(mean, np.float32) for language, mean in means.items()}
    middle: Vectors = np.mean(list(by_language.values()), axis=0)
    moved = vectors - np.stack([by_language.get(language, middle) for language in languages])
    centred: Vectors = (moved / np.linalg.norm(moved, axis=1, keepdims=True)).astype(np.float32)
    return centred


RANK_CONSTANT = 60
"""The usual k of reciprocal-rank fusion: with many candidates a hit of both legs beats the first of one."""
_SHOWN_CONSTANT = 5
"""The same for the order shown, where the first few places matter."""
_PLACES = 30.0
"""What the places weigh beside the log odds of relevance: the first of both legs gains 10, the fifth 6."""
_ACROSS = 0.5
"""What the vector's place counts for the words of a chunk in the other language."""


class Legs(NamedTuple):
    """Weights of the two legs for one question."""

    vector: float
    text: float
    other_language: Language | None
    """Chunks in this language share no words with the question: their vector place counts for both legs."""
    is_folded: bool

    def named(self) -> dict[str, float]:
        """As a search plan reports them."""
        return {"vector": self.vector, "folded" if self.is_folded else "text": self.text}


def legs_of(question: Question) -> Legs:
    """The weights that were measured best for this kind of question."""
    return Legs(1.0, 1.0, "en" if question.language == "vi" else "vi", question.is_unaccented)


def best_first(candidates: Sequence[Hit], relevances: Sequence[float], legs: Legs) -> list[int]:
    """Indices of `candidates` in the order they are shown; `relevances` belong to them. Equals stay as they are."""
    by_vector = _places([one.similarity for one in candidates])
    by_text = _places([one.text_rank for one in candidates])

    def strength(at: int) -> float:
        one = candidates[at]
        near = 1 / (_SHOWN_CONSTANT + by_vector[at])
        said = 1 / (_SHOWN_CONSTANT + by_text[at]) if one.text_rank else 0.0
        if one.language == legs.other_language:
            said = _ACROSS * near
        elif not legs.is_folded:
            # First among the words says little where few of the question's words were found at all.
            said *= one.coverage
        return _log_odds(relevances[at]) + _PLACES * (legs.vector * near + legs.text * said)

    return sorted(range(len(candidates)), key=strength, reverse=True)


def _places(strengths: Sequence[float]) -> list[int]:
    """Place of each, 1 for the strongest."""
    places = [0] * len(strengths)
    for place, at in enumerate(sorted(range(len(strengths)), key=lambda at: -strengths[at]), 1):
        places[at] = place
    return places


def _log_odds(relevance: float) -> float:
    kept = min(max(relevance, 1e-9), 1 - 1e-9)
    return math.log(kept / (1 - kept))


_EXACT_US_A_CHUNK = 0.9
"""Comparing one more visible chunk."""
_WALK_US, _WALKED_CHUNK_US = 1_500.0, 11.0
"""Entering an index, and looking at one of its chunks, visible or not."""
_WORD_MATCHES = 500
"""Chunks whose words are worth ranking: more cost more and change nothing among the first."""
_PAIRED_WORDS = 8
"""The heaviest words, of which any two together find a chunk where single ones stand in too many."""

Clause = tuple[str, ...]
"""Words that must stand in a chunk together."""


def vector_leg(visible: int, indexed_chunks: int | None, candidates: int) -> VectorLeg:
    """The cheaper way to the nearest `candidates` of `visible` chunks: who may see few of an index would walk past the
    others."""
    if indexed_chunks is None or not visible:
        return "exact"
    walked = candidates * max(1.0, indexed_chunks / visible)
    walking = _WALK_US + _WALKED_CHUNK_US * walked
    return "ann" if walking < _EXACT_US_A_CHUNK * visible else "exact"


def telling_clauses(terms: Sequence[tuple[Term, float]], statistics: TermStatistics, visible: int) -> list[Clause]:
    """What to find chunks by: any word of `terms`, or the heaviest words and pairs where they stand in too many
    chunks."""
    words = [(term.words[0], weight) for term, weight in terms if len(term.words) == 1]
    expected = {word: statistics.share(word) * visible for word, _ in words}
    if visible <= MATCHES_RANKED or sum(expected.values()) <= _WORD_MATCHES:
        return [(word,) for word, _ in words]
    pairs = combinations(words[:_PAIRED_WORDS], 2)
    by_weight: list[tuple[float, Clause]] = [(weight, (word,)) for word, weight in words]
    by_weight += [(one[1] + other[1], (one[0], other[0])) for one, other in pairs]
    chosen: list[Clause] = []
    matches = 0.0
    for _, clause in sorted(by_weight, key=lambda pair: -pair[0]):
        matches += visible * math.prod(expected[word] / visible for word in clause)
        if chosen and matches > _WORD_MATCHES:
            break
        chosen.append(clause)
    return chosen
