"""Small talk: telling it from questions by one trained classifier, and answering it in kind.

A softmax over the spelling of a text and, where there is one, its vector. ``training/understanding/talk.py`` fits it;
docs/understanding.md says on what, and how well it does.
"""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal, get_args

import numpy as np

from app.domain.knowledge import Language
from app.embedding import Embedder, EmbeddingUnavailable
from app.reasoning import AgentOffer
from app.reasoning.local.cues import sentences
from app.reasoning.local.similarity import Numbers, spelling_of, unit
from app.reasoning.local.wording import Part, listed, shown
from app.text.language import is_unaccented_vietnamese

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
        rarity, middle = held["rarity"].astype(np.float32), held["middle"].astype(np.float32)
        by_language: dict[Language, Numbers] = {
            "vi": held["vi"].astype(np.float32),
            "en": held["en"].astype(np.float32),
        }
        return Heads(**heads, rarity=rarity, middle=middle, middles=by_language, model=str(held["model"]))


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
