"""`python -m bench.intent`: how well the local reasoner understands what is asked, Vietnamese and English.

Small talk against tasks, requests that nobody can meet, department routing through the real plan, follow-up questions
and compound questions; on the development data and on rows of the bench's own. ``--wrong`` prints what failed,
``--markdown FILE`` writes the tables for the docs.
"""

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from app.embedding import Embedder
from app.embedding.cached import CachedEmbedder
from app.embedding.onnx import OnnxEmbedder
from app.reasoning.local import LocalReasoner
from app.retrieval.ranking import load_calibration
from app.retrieval.search import Retriever
from bench.corpora import loaded, reader
from bench.intent import conversation, kinds, routing
from bench.intent.report import Section, markdown, show
from bench.intent.rows import Utterance, compounds, development, follow_ups, own, routed

_EMPTY = "Nothing is known of any document: the look of the question alone."
_DEMO = "Probed as the service does it, over the documents of the demonstration company."
_STRANGERS = (
    "Legal, finance and facilities are files of five exemplars each and have no documents: with the demonstration's "
    "documents, questions that another department's documents speak about go there, which is as it should be."
)


async def measure(given: argparse.Namespace, out: Console) -> list[Section]:
    """Everything, section by section, printed as it is ready."""
    opened = await asyncio.to_thread(OnnxEmbedder.open, given.models)
    embedder = CachedEmbedder(opened, max_entries=50_000)
    vectors = given.models.parent / "vectors"
    reasoner = LocalReasoner(embedder, vectors)
    known, sections = development(given.eval), []
    mine = own()[:: given.every]
    try:
        taken = await kinds.take(reasoner, routing.built_in(), [*known, *mine], out)
        sections.append(kinds.table(taken))
        followed = await conversation.follow(reasoner, follow_ups()[:: given.every])
        parted = await conversation.split(reasoner, compounds()[:: given.every])
        sections.append(conversation.table("Follow-up questions", followed))
        sections.append(conversation.table("Questions taken apart", parted))
        sections += await _routing(embedder, reasoner, known, given, out)
    finally:
        await embedder.aclose()
    for section in sections:
        show(section, out)
    if given.wrong:
        _tell_wrong(taken, [*followed, *parted], out)
    return sections


async def _routing(
    embedder: Embedder, reasoner: LocalReasoner, known: Sequence[Utterance], given: argparse.Namespace, out: Console
) -> list[Section]:
    calibration = load_calibration(embedder.model)
    async with loaded(embedder, calibration, None, given.seed, lambda line: None) as database:
        retriever = Retriever(database, embedder, calibration, caching=False)

        async def demonstration(queries: Sequence[str]) -> Sequence[dict[str, float]]:
            return await retriever.probe(reader(routing.TENANT), queries)

        sections: list[Section] = []
        for rows, offers, name, note in (
            (known, routing.built_in(), "development rows", ""),
            (routed()[:: given.every], routing.of_strangers(), "own rows, three departments of strangers", _STRANGERS),
        ):
            for probe, how in ((routing.nothing_known, _EMPTY), (demonstration, _DEMO)):
                if rows:
                    found = await routing.route(reasoner, offers, rows, probe, out)
                    house = "without documents" if how == _EMPTY else "with documents"
                    sections.append(routing.table(f"Routing, {name}, {house}", found, f"{how} {note}".strip()))
                    sections.append(routing.confusion(f"Who is asked first, {name}, {house}", found))
    return sections


def _tell_wrong(taken: Sequence[kinds.Taken], understood: Sequence[conversation.Understood], out: Console) -> None:
    for one in taken:
        if not one.right:
            out.print(f"{one.said.source} {one.said.language} {one.said.label}: {one.said.text} → {one.kind}")
    for row in understood:
        if not row.right:
            out.print(f"{row.language} {row.kind}: {row.asked} → {row.as_what}")


def main() -> None:
    """Parse arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--eval", type=Path, default=Path("../shared/eval"))
    parser.add_argument("--seed", type=Path, default=Path("seed_data"))
    parser.add_argument("--models", type=Path, default=Path(".conclave/models"), help="where the bundled model is kept")
    parser.add_argument("--every", type=int, default=1, help="ask every n-th of the bench's own rows")
    parser.add_argument("--wrong", action="store_true", help="print what failed")
    parser.add_argument("--markdown", type=Path, help="write the tables here")
    given = parser.parse_args()
    out = Console(width=160)
    if not (given.eval / "intent").is_dir():
        out.print(f"no development data in {given.eval}: only the bench's own rows are measured")
    sections = asyncio.run(measure(given, out))
    if given.markdown:
        given.markdown.write_text(markdown(sections), "utf-8")


if __name__ == "__main__":
    main()
