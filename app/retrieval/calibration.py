"""What a score means: from a model's cosine and the words found to a relevance between 0 and 1.

The mean question and passage of each language are taken out of the vectors first ("centring"), so that unrelated text
lies around 0 and questions find passages in the other language. ``bench/calibrate.py`` fits ``calibration.json``.
"""

import hashlib
import math
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
from pydantic import Field, TypeAdapter

from app.domain.record import Record
from app.embedding import Vectors

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
