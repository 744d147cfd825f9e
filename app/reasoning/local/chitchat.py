"""Utterances in numbers; and small talk, told from questions by them and answered in kind.

A softmax over the spelling of a text and, where there is one, its vector. ``training/understanding/talk.py`` fits it;
docs/understanding.md says on what, and how well it does.
"""

import io
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from app.domain.knowledge import Language
from app.embedding import Embedder, EmbeddingUnavailable, Vectors
from app.reasoning import AgentOffer
from app.reasoning.local.terms import Part
from app.reasoning.local.wording import listed, sentences, shown
from app.text.language import fold, guess_language, is_unaccented_vietnamese, normalise

Numbers = npt.NDArray[np.float32]

BUCKETS = 4096
"""Columns into which words, neighbouring words and runs of letters are hashed."""
_LONGEST_REMARK = 300
"""Characters that are looked at: nobody's small talk is longer."""
_RUN_LENGTHS, _RUN_WEIGHT = (3, 4), 0.5
_WORD = re.compile(r"[^\W_]+")


def spelling_of(texts: Sequence[str]) -> Numbers:
    """Shape (texts, `BUCKETS`): how often each word, pair of words and run of letters stands in a text."""
    counted = np.zeros((len(texts), BUCKETS), dtype=np.float32)
    for row, text in zip(counted, texts, strict=True):
        for gram, times in Counter(_grams(text)).items():
            row[zlib.crc32(gram.encode()) % BUCKETS] += times * (_RUN_WEIGHT if gram[0] == "~" else 1.0)
    return counted


def _grams(text: str) -> Iterator[str]:
    words = _WORD.findall(fold(normalise(text[:_LONGEST_REMARK])).lower())
    yield from words
    yield from (f"{first} {second}" for first, second in pairwise(["^", *words, "$"]))
    line = f" {' '.join(words)} "
    for length in _RUN_LENGTHS:
        yield from (f"~{line[at : at + length]}" for at in range(len(line) - length + 1))


_FEWEST = 20
"""Texts of a language that tell its mean; fewer are taken with all others."""


def means_of(texts: Sequence[str], vectors: Vectors) -> Mapping[Language, Vectors]:
    """The mean vector of each language. Taken out of vectors, what is left compares across languages."""
    spoken = np.array([guess_language(text) for text in texts])
    languages: tuple[Language, ...] = ("vi", "en")
    own = {language: vectors[spoken == language] for language in languages}
    return {language: (rows if len(rows) >= _FEWEST else vectors).mean(axis=0) for language, rows in own.items()}


def unit(rows: Numbers) -> Numbers:
    """Rows of length 1; rows of zeros stay."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    scaled: Numbers = (rows / np.where(lengths > 0, lengths, 1.0)).astype(np.float32, copy=False)
    return scaled


Talk = Literal["greeting", "thanks", "agreement", "goodbye", "identity", "ability", "mood", "complaint", "smalltalk"]
TALKS: tuple[Talk, ...] = get_args(Talk)
_LONGEST = 14


@dataclass(frozen=True, slots=True)
class Head:
    """Weights of one softmax: columns by kinds, what asks first and then `TALKS`."""

    slopes: Numbers
    constants: Numbers
    limit: float
    """The chance of being small talk above which it is taken for it."""

    def chances(self, rows: Numbers) -> Numbers:
        """Of each kind, for rows of features."""
        powers = rows @ self.slopes + self.constants
        powers = np.exp(powers - powers.max(axis=1, keepdims=True))
        shares: Numbers = powers / powers.sum(axis=1, keepdims=True)
        return shares

    def talk_in(self, row: Numbers) -> Talk | None:
        """The likeliest kind of small talk of one row; None for what asks."""
        chances = self.chances(row)[0]
        return TALKS[int(chances[1:].argmax())] if 1 - chances[0] > self.limit else None


@dataclass(frozen=True, slots=True)
class Heads:
    """The weights of the package: without and with a vector."""

    spelt: Head
    meant: Head
    rarity: Numbers
    """How telling each column of the spelling is."""
    middle: Numbers
    """The mean vector, to be taken out."""
    middles: Mapping[Language, Numbers]
    """The same of each language alone."""
    model: str
    """Of the vectors; those of another mean nothing to `meant`."""


@cache
def stored_heads() -> Heads:
    """Read the weights of the package."""
    content = files(__package__).joinpath("small_talk.npz").read_bytes()
    with np.load(io.BytesIO(content), allow_pickle=False) as held:
        heads = {name: _head(held, name) for name in ("spelt", "meant")}
        small = {name: held[name].astype(np.float32) for name in ("rarity", "middle", "vi", "en")}
        middles: dict[Language, Numbers] = {"vi": small["vi"], "en": small["en"]}
        return Heads(**heads, rarity=small["rarity"], middle=small["middle"], middles=middles, model=str(held["model"]))


def _head(held: Any, name: str) -> Head:
    slopes: Numbers = held[f"{name}_slopes"].astype(np.float32) * held[f"{name}_scale"].astype(np.float32)
    return Head(slopes, held[f"{name}_constants"], float(held[f"{name}_limit"]))


def spelt_rows(texts: Sequence[str], rarity: Numbers) -> Numbers:
    """Shape (texts, columns): words and runs of letters, and how long each text is."""
    length = np.array([[min(len(text.split()), _LONGEST) / _LONGEST] for text in texts], dtype=np.float32)
    return np.concatenate([SPELT * unit(spelling_of(texts) * rarity), length], axis=1)


def meant_rows(spelt: Numbers, vectors: Numbers, middle: Numbers) -> Numbers:
    """The same with the texts' vectors beside them."""
    return np.concatenate([spelt, MEANT * unit(vectors - middle)], axis=1)


SPELT, MEANT = 2.0, 2.0
"""How much each side weighs: the larger, the less the ridge holds it."""


def spelt_talk(text: str) -> Talk | None:
    """The kind of small talk by spelling alone; None for what asks or tells something."""
    heads = stored_heads()
    return heads.spelt.talk_in(spelt_rows([text], heads.rarity))


def is_remark(text: str) -> bool:
    """Whether what follows a question is small talk by its spelling; “còn Huế?” is not: it asks about that question."""
    return spelt_talk(text) is not None and (Part.of(text).asks or not text.rstrip().endswith("?"))


async def talk_in(text: str, embedder: Embedder) -> Talk | None:
    """The kind of small talk; embeds the text.

    By spelling alone where vectors say little (without diacritics), and while the embedder is away or another one.
    """
    heads = stored_heads()
    if embedder.model != heads.model or is_unaccented_vietnamese(text):
        return spelt_talk(text)
    try:
        vectors = await embedder.embed_queries([text])
    except EmbeddingUnavailable:
        return spelt_talk(text)
    return heads.meant.talk_in(meant_rows(spelt_rows([text], heads.rarity), vectors, heads.middle))


def reply(talk: Talk, language: Language, agents: Sequence[AgentOffer]) -> str:
    """A short friendly answer that says what can be asked here."""
    names = [shown(agent.name) for agent in agents]
    texts = sentences("small_talk", language)
    offer = (
        texts["offer"].format(agents=listed(names, language)) if names else texts["offer"].replace(" ({agents})", "")
    )
    return texts[talk].format(offer=offer).strip()
