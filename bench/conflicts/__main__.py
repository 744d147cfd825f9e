"""`python -m bench.conflicts`: are documents that disagree recognised, and is the answer the one that holds?

Each question has its documents in a tenant of its own: real ingestion, database, retriever. The local reasoner quotes,
claims are held against one another, weighed, and the answer is given again without what lost. Printed twice: the whole
way, on which a question may end in “nothing found”, and claims and weighing alone, with the quotes taken however sure
the reasoner was of them.

Detection: precision, recall and F1 of “these documents disagree”, by question. Winner: share of the questions with
documents that disagree and a known answer whose answer shows it (`judging.shows`); by document: of those detected, the
winner is the document that gives the right answer. `pairs.jsonl` is our own: rules were made on the part tuned on, the
part held out was written before and looked at by its figures only. Each question is also asked where nothing answers
it. The last lines are those of the shared development data. ``--all`` prints every wrong decision but those of what is
held out.
"""

import argparse
import asyncio
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from app.domain.knowledge import Finding
from app.embedding.onnx import OnnxEmbedder
from app.flow.state import FlowLimits
from app.reasoning.local import LocalReasoner
from bench.cases import VectorsOnDisk
from bench.conflicts.judging import Judged, between, judged, shows_any
from bench.conflicts.rows import HANDBOOK, HELD, RAMDOCS, TUNED, Asked, Row, found_for, rows, strangers_for
from bench.health import opened

F1_AIM, WINNER_AIM = 0.85, 0.90
_FILES = {HANDBOOK: "policy versions (policy_versions.jsonl)", RAMDOCS: "RAMDocs (ramdocs.jsonl)"}


def share(values: Iterable[bool]) -> str:
    """Share and number of what holds."""
    known = list(values)
    return f"{sum(known) / len(known):.2f} of {len(known)}" if known else "–"


def detection(members: Sequence[Judged]) -> tuple[str, str, str]:
    """Precision, recall, F1; F1 only where both outcomes can occur."""
    hits = sum(one.detected and one.row.conflicts for one in members)
    said, there = sum(one.detected for one in members), sum(one.row.conflicts for one in members)
    score = f"{2 * hits / (said + there):.2f}" if said + there else "–"
    return (f"{hits / said:.2f}" if said else "–", f"{hits / there:.2f}" if there else "–", score)


def won_by_document(one: Judged) -> bool:
    """Whether a winner is a document that gives a right answer."""
    told = one.row.told
    return any(shows_any(told.get(v.winner.quote.passage.external_id, ""), one.row.gold) for v in one.verdicts)


def line(name: str, members: Sequence[Judged]) -> tuple[str, ...]:
    """One line of the table."""
    known = [one for one in members if one.row.conflicts and one.row.gold]
    seen = [one for one in known if one.detected]
    typed = [one for one in members if one.row.conflicts and one.detected and one.row.set != RAMDOCS]
    return (
        name,
        str(len(members)),
        *detection(members),
        share(one.right for one in known),
        share(won_by_document(one) for one in seen),
        share(one.wrong for one in known),
        share(any(v.conflict.conflict_type == one.row.expect for v in one.verdicts) for one in typed),
        share(one.finding.found for one in members),
    )


def report(title: str, members: Sequence[Judged], out: Console) -> None:
    """Print one table: by set, then by language and kind of our own pairs."""
    table = Table(
        "documents", "questions", "precision", "recall", f"F1 (≥ {F1_AIM})", f"winner (≥ {WINNER_AIM})", "by document",
        "shows what lost", "type", "answered", title=title,
    )  # fmt: skip
    for name in (HELD, TUNED, HANDBOOK, RAMDOCS):
        own = [one for one in members if one.row.set == name]
        if own:
            table.add_row(*line(name, own))
            for tongue in ("vi", "en") if name in (HELD, TUNED) else ():
                table.add_row(*line(f"  {tongue}", [one for one in own if one.row.language == tongue]))
            if name == RAMDOCS:
                for kind in sorted({one.row.kind for one in own}):
                    table.add_row(*line(f"  {kind}", [one for one in own if one.row.kind == kind]))
    out.print(table)


def by_kind(members: Sequence[Judged], out: Console) -> None:
    """What share of each kind of our own pairs was decided rightly."""
    own = [one for one in members if one.row.set in (HELD, TUNED)]
    table = Table("kind", "disagree", "decided rightly", "held out", title="our own pairs by kind, claims alone")
    for kind, conflicts in sorted({(one.row.kind, one.row.conflicts) for one in own}):
        group = [one for one in own if (one.row.kind, one.row.conflicts) == (kind, conflicts)]
        right: Callable[[Judged], bool] = lambda one: one.detected == one.row.conflicts  # noqa: E731
        table.add_row(
            kind, "yes" if conflicts else "no", share(map(right, group)),
            share(right(one) for one in group if one.row.set == HELD),
        )  # fmt: skip
    out.print(table)


def strangers(findings: Sequence[tuple[Row, Finding]], out: Console) -> None:
    """What share of the questions that nothing answers got an answer."""
    for name in (HELD, TUNED, HANDBOOK):
        own = [finding for row, finding in findings if row.set == name]
        if own:
            out.print(
                f"{name}: questions of other rows, which nothing answers, answered: {share(f.found for f in own)}"
            )


def shared_data(whole: Sequence[Judged], out: Console) -> None:
    """One line for each set of the shared development data: the whole way, beside its aims."""
    for name, aims in ((HANDBOOK, (f" (≥ {F1_AIM:.2f})", f" (≥ {WINNER_AIM:.2f})")), (RAMDOCS, ("", ""))):
        own = [one for one in whole if one.row.set == name]
        if own:
            precision, recall, score = detection(own)
            known = share(one.right for one in own if one.row.conflicts and one.row.gold)
            out.print(
                f"{_FILES[name]}: conflict precision {precision}, recall {recall}, F1 {score}{aims[0]}; "
                f"winner accuracy {known}{aims[1]}"
            )


def document_pairs(members: Sequence[Judged], out: Console) -> None:
    """Of RAMDocs: how many pairs of documents said to disagree give different answers."""
    pairs = [
        (one.row.told[first], one.row.told[second])
        for one in members
        if one.row.set == RAMDOCS
        for first, second in (sorted(pair) for pair in between(one.verdicts))
    ]
    if pairs:
        out.print(
            f"RAMDocs: of pairs of documents said to disagree give different answers: {share(a != b for a, b in pairs)}"
        )


def mistakes(members: Iterable[Judged], out: Console) -> None:
    """Every wrong decision of what may be looked at."""
    for one in members:
        wrong = one.detected != one.row.conflicts or (one.row.conflicts and one.row.gold and not one.right)
        if wrong and one.row.set != HELD:
            out.print(f"{one.row.id} ({one.row.kind}) {one.row.question} [gold {one.row.gold}]", markup=False)
            for verdict in one.verdicts:
                out.print(f"   {verdict.conflict.conflict_type}: {verdict.winner.sentence[:100]} | "
                          f"{verdict.loser.sentence[:100]}", markup=False)  # fmt: skip
            out.print(f"   answer: {one.finding.answer[:160] if one.finding.found else '–'}", markup=False)


async def measure(given: argparse.Namespace, out: Console) -> None:
    """Load, ask, decide, print."""
    opened_model = await asyncio.to_thread(OnnxEmbedder.open, given.models)
    embedder = VectorsOnDisk(opened_model, given.cache)
    every, limits = rows(given.eval, given.every), FlowLimits()
    try:
        with tempfile.TemporaryDirectory(prefix="conclave-bench-") as folder:
            async with opened(Path(folder), [row.id for row in every]) as database:
                asked: list[Asked] = await found_for(every, database, embedder)
                foreign = await strangers_for(every, database, embedder)
            reasoner = LocalReasoner(embedder, Path(folder) / "vectors")
            unanswerable = [(one.row, await reasoner.answer(one.request())) for one in foreign]
            whole = [await judged(one, reasoner, embedder, limits, unsure=False) for one in asked]
            alone = [await judged(one, reasoner, embedder, limits, unsure=True) for one in asked]
    finally:
        embedder.keep()
        await embedder.aclose()
    report("the whole way", whole, out)
    report("claims and weighing alone", alone, out)
    by_kind(alone, out)
    document_pairs(alone, out)
    strangers(unanswerable, out)
    shared_data(whole, out)
    if given.all:
        mistakes(alone, out)


def main() -> None:
    """Parse arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--eval", type=Path, default=Path("../shared/eval"))
    parser.add_argument("--models", type=Path, default=Path(".conclave/models"), help="where the bundled model is kept")
    parser.add_argument("--cache", type=Path, default=Path(".conclave/bench"), help="where vectors are kept")
    parser.add_argument("--every", type=int, default=1, help="ask about every n-th of our own pairs")
    parser.add_argument("--all", action="store_true", help="print every wrong decision")
    asyncio.run(measure(parser.parse_args(), Console(width=170)))


if __name__ == "__main__":
    main()
