"""``python -m bench.support FILE …``: sentences of answers, right and wrong, each held against the passage it cites.

A row is a sentence as a model may write it and where it comes from (`Row`); it counts as marked where the judge of
written answers (`app.reasoning.llm.statements`) finds no support. Printed by kind: how many are marked, and how many
are left out as orders. Right sentences should not be marked, wrong ones should. Figures only, never a row.
"""

import argparse
import asyncio
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal
from uuid import NAMESPACE_URL, uuid5

from rich.console import Console
from rich.table import Table

from app.domain.knowledge import DocumentDraft, Language, Passage, Quote, without_citations
from app.domain.record import Record
from app.embedding.onnx import OnnxEmbedder
from app.ingestion.chunk import TokenCounter, chunk
from app.ingestion.planted import is_order
from app.reasoning.llm.grounds import Grounds, quote_texts
from app.reasoning.llm.statements import Judge
from app.reasoning.local import LocalReasoner
from bench.clauses import COMPANIES, documents_of
from bench.corpora import read_lines

RIGHT = ("quote", "reword", "table", "across", "frame")
WRONG = ("number", "polarity", "subject", "condition", "invented", "order")
Kind = Literal["quote", "reword", "table", "across", "frame", "number", "polarity", "subject", "condition", "invented",
               "order"]  # fmt: skip


class Row(Record):
    """A sentence and what it is to its passage."""

    id: str
    language: Language
    kind: Kind
    question: str
    document: str
    """Below the companies' folder."""
    anchor: str
    """Literally in the passage the sentence cites."""
    sentence: str

    @property
    def is_right(self) -> bool:
        """Whether the passage says so."""
        return self.kind in RIGHT


def passages_of(draft: DocumentDraft, count: TokenCounter) -> Iterator[Passage]:
    """A document's chunks as a search would find them."""
    for one in chunk(draft.text, draft.title, count_tokens=count):
        yield Passage(
            chunk_id=uuid5(NAMESPACE_URL, f"{draft.external_id}/{one.position}"),
            document_id=uuid5(NAMESPACE_URL, draft.external_id),
            external_id=draft.external_id, title=draft.title, section=one.section, text=one.text, url=draft.url,
            department=draft.department, scope=draft.scope, language=draft.lang, created_at=draft.created_at,
            effective_from=draft.effective_from, effective_to=draft.effective_to, authority=draft.authority,
            similarity=0, text_rank=0, relevance_score=1, fused_score=0,
        )  # fmt: skip


def placed(path: Path, count: TokenCounter) -> list[tuple[Row, Passage]]:
    """The rows of a file with the passages they cite; one whose anchor stands in no passage is left out."""
    known: dict[str, list[Passage]] = {}
    found: list[tuple[Row, Passage]] = []
    for row in map(Row.model_validate, read_lines(path)):
        if row.document not in known:
            known[row.document] = [*passages_of(_draft(row.document), count)]
        anchor = _plain(row.anchor)
        passage = next(
            (one for one in known[row.document] if anchor in _plain(f"{one.title} {one.section} {one.text}")), None
        )
        if passage is not None:
            found.append((row, passage))
    return found


def _plain(text: str) -> str:
    return " ".join(text.replace("#", " ").split())


def _draft(document: str) -> DocumentDraft:
    company, *_, department, name = Path(document.removeprefix("bench/companies/")).parts
    _, documents = documents_of(company, COMPANIES)
    return documents[f"{department}/{Path(name).stem}"]


async def marked(rows: Sequence[tuple[Row, Passage]], reasoner: LocalReasoner) -> dict[Kind, list[str]]:
    """What becomes of each sentence, by kind: ``kept``, ``marked`` or ``left out``."""
    told: dict[Kind, list[str]] = defaultdict(list)
    for row, passage in rows:
        quote = Quote(passage=passage, text=passage.text, score=0)
        grounds = Grounds([row.question, *quote_texts([quote])], may_round=False)
        judge = Judge([quote], grounds, reasoner, row.language, is_order)
        judged = await judge.judged(f"{without_citations(row.sentence)} [1]")
        told[row.kind].append("left out" if judged is None else "marked" if judged.is_unsupported else "kept")
    return told


async def measure(paths: Sequence[Path], models: Path, out: Console, every: int = 1) -> dict[str, float]:
    """Print the table; give the shares that were marked or left out, of right and of wrong sentences."""
    embedder = await asyncio.to_thread(OnnxEmbedder.open, models)
    try:
        rows = [row for path in paths for row in placed(path, embedder.count_tokens)[::every]]
        told = await marked(rows, LocalReasoner(embedder))
    finally:
        await embedder.aclose()
    table = Table(title=f"sentences held against their passage: {', '.join(path.stem for path in paths)}")
    for name in ("kind", "sentences", "marked", "left out"):
        table.add_column(name, justify="left" if name == "kind" else "right")
    shares: dict[str, float] = {}
    for group, kinds in (("right", RIGHT), ("wrong", WRONG)):
        for kind in kinds:
            _add(table, kind, told.get(kind, []))  # type: ignore[call-overload]
        ended = [one for kind, own in told.items() if kind in kinds for one in own]
        _add(table, f"[b]{group}", ended)
        shares[group] = sum(one != "kept" for one in ended) / max(1, len(ended))
    out.print(table)
    return shares


def _add(table: Table, name: str, ended: Sequence[str]) -> None:
    shares = (f"{ended.count(how) / max(1, len(ended)):.3f}" for how in ("marked", "left out"))
    table.add_row(name, str(len(ended)), *shares)


def main() -> None:
    """Parse arguments and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--models", type=Path, default=Path(".conclave/models"))
    parser.add_argument("--every", type=int, default=1, help="take every so many rows")
    given = parser.parse_args()
    asyncio.run(measure(given.files, given.models, Console(width=120), given.every))


if __name__ == "__main__":
    main()
