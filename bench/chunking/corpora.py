"""Documents that are cut, and questions with the pieces that answer them."""

import re
import textwrap
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from app.domain.principal import tenant_id_of
from app.ingestion.seed import read_seed
from app.text.language import clean, normalise
from bench.corpora import Asked, read_lines, seed_questions

PARAGRAPHS, ONE_LINE, LINES = SHAPES = ("paragraphs", "one line", "lines of 80 characters")
"""How the passages of an article are put together."""
_NO_LETTER = re.compile(r"[\W_]+")


class Document(NamedTuple):
    """A text to cut."""

    name: str
    title: str
    text: str
    language: str


class Piece(NamedTuple):
    """What a cutter made."""

    document: Document
    section: str
    text: str
    start: int
    """Where it stands among the document's letters; -1 if it was put together from several places."""
    tokens: int

    @property
    def passage(self) -> str:
        """What is embedded."""
        return "\n".join(part for part in (self.document.title, self.section, self.text) if part)


class Question(NamedTuple):
    """A question, what its asker may read, and which pieces answer it."""

    text: str
    language: str
    readable: frozenset[str]
    answers: Callable[[Piece], bool]


class Corpus(NamedTuple):
    """Documents and questions about them."""

    name: str
    documents: Sequence[Document]
    questions: Sequence[Question]


def xquad(folder: Path, language: str, shape: str) -> Corpus:
    """Every article as one document without a title."""
    glue = "\n\n" if shape == PARAGRAPHS else " "
    rows = [row for row in read_lines(folder / "xquad" / "corpus.jsonl") if row["lang"] == language]
    documents: list[Document] = []
    places: dict[str, tuple[str, int, str]] = {}
    for article, members in groupby(rows, key=lambda row: row["article"]):
        text, own = "", f"{language}-{article}"
        for row in members:
            text += glue if text else ""
            places[row["id"]] = (own, len(letters(text)), row["text"])
            text += row["text"]
        documents.append(Document(own, "", textwrap.fill(text, 80) if shape == LINES else text, language))
    asked = [row for row in read_lines(folder / "xquad" / "queries.jsonl") if row["lang"] == language]
    readable = frozenset(document.name for document in documents)
    return Corpus(
        f"XQuAD {language}, {shape}",
        documents,
        [_span_question(row, readable, *places[row["passage_id"]]) for row in asked],
    )


def _span_question(row: dict[str, Any], readable: frozenset[str], document: str, begin: int, passage: str) -> Question:
    answer = row["answers"][0]
    start = begin + len(letters(passage[: answer["start"]]))
    end = start + len(letters(answer["text"]))

    def answers(piece: Piece) -> bool:
        return (
            piece.document.name == document and piece.start <= start and end <= piece.start + len(letters(piece.text))
        )

    return Question(row["question"], row["lang"], readable, answers)


def letters(text: str) -> str:
    """Letters and digits alone: what every cutter keeps, so that places can be compared."""
    return _NO_LETTER.sub("", clean(text))


def demonstration(folder: Path) -> Iterator[Corpus]:
    """The documents of each demonstration tenant with the questions that expect a phrase, asked with their rights."""
    asked: dict[Any, list[Asked]] = defaultdict(list)
    for one in seed_questions(folder):
        if one.documents and one.phrases:
            asked[one.principal.tenant_id].append(one)
    for tenant in read_seed(folder).tenants:
        documents = [Document(one.external_id, one.title, one.text, one.lang) for one in tenant.documents]
        questions = []
        for one in asked[tenant_id_of(tenant.name)]:
            readable = {
                doc.external_id for doc in tenant.documents if one.principal.may_read(doc.scope, doc.department)
            }
            questions.append(_phrase_question(one, frozenset(readable)))
        yield Corpus(tenant.name, documents, questions)


def _phrase_question(asked: Asked, readable: frozenset[str]) -> Question:
    phrases = [normalise(phrase).lower() for phrase in asked.phrases]

    def answers(piece: Piece) -> bool:
        if piece.document.name not in asked.documents:
            return False
        said = normalise(piece.passage).lower()
        return any(phrase in said for phrase in phrases)

    return Question(asked.text, asked.language, readable, answers)
