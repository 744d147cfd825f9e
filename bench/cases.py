"""Questions with what the service finds for them, for everything that is measured on answers."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import track

from app.domain.knowledge import Language, Passage
from app.domain.principal import Principal
from app.embedding import Embedder, Tokens, Vectors
from app.embedding.cached import CachedEmbedder
from app.ingestion.seed import read_demo
from app.reasoning import AnswerRequest
from app.reasoning.reader import Says
from app.retrieval.ranking import QuestionAdapter, load_calibration
from app.retrieval.search import Retriever
from app.text.diacritics import restored
from app.text.language import fold, guess_language, is_unaccented_vietnamese, normalise
from app.tools.rag import PASSAGE_LIMIT
from bench.corpora import XQUAD, loaded, read_lines, reader, seed_questions

COMPANY = "company "
"""Begins the kind of questions about an invented organisation: their gold phrases are whole pieces of a document."""
_MIN_RELEVANCE = 0.7
_FOUND = 40
"""Passages searched, so that eight are left when the hidden ones are taken out."""


class Case(NamedTuple):
    """A question, the passages it is answered from, and what a right answer shows."""

    kind: str
    """``vi same``, ``en same``, ``vi cross``, ``en cross``, ``vi unaccented``, ``seed …``, ``company NAME …``."""
    why: str
    """``answerable``, or why not: ``hidden``, ``stranger``, ``unanswerable``."""
    group: str
    """Questions of one group share passages: none of them may be tuned on and judged by."""
    text: str
    language: Language
    passages: tuple[Passage, ...]
    gold: tuple[tuple[str, ...], ...]
    """Ways to be right: the phrases of one of them all stand in the answer. Empty when nothing answers."""
    retrieved: bool
    documents: frozenset[str] = frozenset()
    """external_ids of those that answer."""
    says: Says | None = None
    """What they say to a question for yes or no."""

    @property
    def answerable(self) -> bool:
        """Whether the corpus holds the answer."""
        return self.why == "answerable"

    def request(self) -> AnswerRequest:
        """As `rag_tool` asks it."""
        return AnswerRequest(
            query=self.text,
            language=self.language,
            agent="general",
            index=1,
            passages=self.passages,
            min_relevance_score=_MIN_RELEVANCE,
        )


class VectorsOnDisk:
    """An embedder that computes every text once for all runs; keeps what it computed in one file of a folder."""

    def __init__(self, inner: Embedder, folder: Path):
        """Reads what earlier runs kept; `keep` writes it."""
        self._inner, self._reader = inner, CachedEmbedder(inner)
        self._path = folder / f"vectors-{hashlib.sha256(inner.model.encode()).hexdigest()[:12]}.npz"
        self._rows: dict[str, Vectors] = {}
        if self._path.exists():
            with np.load(self._path, allow_pickle=False) as kept:
                self._rows = dict(zip(kept["keys"].tolist(), kept["rows"], strict=True))
        self._read = len(self._rows)

    @property
    def model(self) -> str:
        """The inner embedder's model."""
        return self._inner.model

    @property
    def dimensions(self) -> int:
        """The inner embedder's dimensions."""
        return self._inner.dimensions

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Vectors of questions, with their accents as the service embeds them."""
        texts = [restored(text) for text in texts]
        missing = self._missing("q", texts)
        if missing:
            self._rows.update(zip(_keys("q", missing), await self._inner.embed_queries(missing), strict=True))
        return self._stack("q", texts)

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Vectors of stored text."""
        missing = self._missing("p", texts)
        if missing:
            self._rows.update(zip(_keys("p", missing), await self._inner.embed_passages(missing), strict=True))
        return self._stack("p", texts)

    async def read_question(self, text: str) -> Tokens:
        """As the service reads it; not kept."""
        return await self._reader.read_question(text)

    async def read_pieces(self, pieces: Sequence[tuple[str, str]]) -> list[Tokens]:
        """As the service reads them; not kept."""
        return await self._reader.read_pieces(pieces)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """As the inner embedder counts."""
        return self._inner.count_tokens(texts)

    async def aclose(self) -> None:
        """Close the inner embedder."""
        await self._inner.aclose()

    def keep(self) -> None:
        """Write the file when something is new."""
        if len(self._rows) > self._read:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            np.savez(self._path, keys=np.array(list(self._rows)), rows=np.stack(list(self._rows.values())))
            self._read = len(self._rows)

    def _missing(self, use: str, texts: Sequence[str]) -> list[str]:
        return [text for text in dict.fromkeys(texts) if _key(use, text) not in self._rows]

    def _stack(self, use: str, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.empty((0, self.dimensions), np.float32)
        return np.stack([self._rows[key] for key in _keys(use, texts)])


def _key(use: str, text: str) -> str:
    return hashlib.sha256(f"{use}\n{text}".encode("utf-8", "replace")).hexdigest()[:32]


def _keys(use: str, texts: Sequence[str]) -> list[str]:
    return [_key(use, text) for text in texts]


class Asking(NamedTuple):
    """A case before anything was searched."""

    kind: str
    why: str
    group: str
    asker: Principal
    text: str
    language: Language
    documents: frozenset[str]
    hidden: frozenset[str]
    gold: tuple[tuple[str, ...], ...]
    says: Says | None = None


async def collect(
    embedder: Embedder, eval_folder: Path, seed_folder: Path, every: int, out: Console, companies: Sequence[Path] = (),
    adapter_for: Callable[[str], QuestionAdapter | None] = lambda company: None,
) -> list[Case]:  # fmt: skip
    """Load the corpora into databases, ask everything, and return the cases.

    Of the XQuAD articles each n-th is asked about; all of them lie in the database. `companies`: seed folders with
    `questions.jsonl`, as in bench/companies; each has a database of its own. `adapter_for` tells by its name which
    adapter its questions are searched with, where it is not the package's.
    """
    calibration = load_calibration(embedder.model)
    wanted = [*asked_of_xquad(eval_folder, every), *_of_seeds(seed_folder)]
    wanted += _strangers(wanted)
    async with loaded(embedder, calibration, eval_folder, seed_folder, lambda line: None) as database:
        # Its cache answers the second search for the same words, with other passages hidden.
        retriever = Retriever(database, embedder, calibration)
        cases = [await _found(retriever, one) for one in track(wanted, "searching", console=out, transient=True)]
    for folder in companies:
        asked = list(asked_of_company(folder))
        async with loaded(embedder, calibration, None, folder, lambda line: None) as database:
            retriever = Retriever(database, embedder, calibration, adapter=adapter_for(folder.name))
            cases += [await _found(retriever, one) for one in track(asked, folder.name, console=out, transient=True)]
    return cases


def asked_of_company(folder: Path) -> Iterator[Asking]:
    """Every wording of every question as its asker; the first one also with the documents that answer hidden."""
    people = {f"{user.tenant}/{user.name}": user.principal for user in read_demo(folder).users}
    for row in (row for path in sorted(folder.glob("questions*.jsonl")) for row in read_lines(path)):
        gold = tuple((answer["quote"],) for answer in row["answers"])
        documents = frozenset(answer["document"] for answer in row["answers"])
        for number, (text, says) in enumerate(zip(row["wordings"], row.get("says", [None] * 3), strict=True)):
            language: Language = "vi" if is_unaccented_vietnamese(text) else guess_language(text)
            one = Asking(
                f"{COMPANY}{folder.name} {language}", "answerable" if gold else "unanswerable",
                f"company {folder.name}", people[row["asker"]], text, language, documents, frozenset(), gold, says,
            )  # fmt: skip
            yield one
            if gold and not number:
                # What was replaced answers too, when its successor is not there.
                earlier = {miss["document"] for miss in row["near_misses"] if miss["why"] == "superseded"}
                yield one._replace(why="hidden", documents=frozenset(), hidden=documents | earlier, says=None)


def asked_of_xquad(folder: Path, every: int) -> Iterator[Asking]:
    """Each question with the passage of its own language, of the other one, and with neither."""
    rows = read_lines(folder / "xquad" / "queries.jsonl")
    articles = {row["id"]: row["article"] for row in read_lines(folder / "xquad" / "corpus.jsonl")}
    spans = {(row["lang"], row["parallel"]): row["answers"] for row in rows}
    asker = reader(XQUAD)
    for row in rows:
        own, language = row["passage_id"], row["lang"]
        other = "en" if language == "vi" else "vi"
        parallel, article = other + own[2:], articles[own]
        if article % every:
            continue
        spellings = {"same": row["question"], **({"unaccented": fold(row["question"])} if language == "vi" else {})}
        sources = [(how, text, language, own, parallel) for how, text in spellings.items()]
        sources.append(("cross", row["question"], other, parallel, own))
        for how, text, told_in, document, elsewhere in sources:
            one = Asking(
                f"{language} {how}", "answerable", f"article {article}", asker, text, language, frozenset({document}),
                frozenset({elsewhere}), tuple((answer["text"],) for answer in spans[told_in, row["parallel"]]),
            )  # fmt: skip
            yield one
            if how != "cross":
                yield one._replace(why="hidden", documents=frozenset(), hidden=frozenset({own, parallel}), gold=())


def _of_seeds(folder: Path) -> Iterator[Asking]:
    """The bundled questions, each as its asker; also with every document hidden that is expected to answer."""
    for asked in seed_questions(folder):
        how = asked.kind.removeprefix("seed ")
        known = how != "unanswerable"
        kind = f"seed {asked.language}" + (f" {how}" if known and how != "same" else "")
        gold = (asked.phrases,) if known and asked.phrases else ()
        if known and not gold:
            continue
        one = Asking(
            kind, "answerable" if known else "unanswerable", f"tenant {asked.principal.tenant_id}", asked.principal,
            asked.text, asked.language, asked.documents, frozenset(), gold,
        )  # fmt: skip
        yield one
        if known:
            yield one._replace(why="hidden", documents=frozenset(), hidden=asked.documents, gold=gold)


def _strangers(wanted: Sequence[Asking]) -> list[Asking]:
    """Some questions asked where nobody wrote about them: of encyclopaedia passages in a company, and the reverse."""
    own = [one for one in wanted if one.why == "answerable" and one.kind in ("vi same", "en same")]
    seeds = [one for one in wanted if one.why == "answerable" and one.kind in ("seed vi", "seed en")]
    encyclopaedia = reader(XQUAD)
    in_a_company = [
        one._replace(asker=seeds[at % len(seeds)].asker)
        for at, one in enumerate(own[:: max(1, len(own) // max(1, len(seeds)))])
    ]
    return [
        one._replace(why="stranger", documents=frozenset(), hidden=frozenset(), gold=())
        for one in (*in_a_company, *(one._replace(asker=encyclopaedia) for one in seeds))
    ]


async def _found(retriever: Retriever, wanted: Asking) -> Case:
    result = await retriever.search(wanted.asker, wanted.text, departments=None, limit=_FOUND)
    hides_phrases = wanted.gold if wanted.why == "hidden" else ()
    shown = [
        passage
        for passage in result.passages
        if passage.external_id not in wanted.hidden and not shows(passage.text, hides_phrases)
    ][:PASSAGE_LIMIT]
    answerable = wanted.why == "answerable"
    return Case(
        kind=wanted.kind,
        why=wanted.why,
        group=wanted.group,
        text=wanted.text,
        language=wanted.language,
        passages=tuple(shown),
        gold=wanted.gold if answerable else (),
        retrieved=answerable and any(passage.external_id in wanted.documents for passage in shown),
        documents=wanted.documents if answerable else frozenset(),
        says=wanted.says,
    )


def shows(text: str, gold: Sequence[Sequence[str]]) -> bool:
    """Whether all phrases of one way to be right stand in the text; case and spacing do not matter."""
    said = normalise(text).lower()
    return any(all(normalise(phrase).lower() in said for phrase in phrases) for phrases in gold)
