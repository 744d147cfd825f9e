"""How good the answers are, with no language model: the demonstration questions through plan, tools and composer.

``python -m bench.answer_quality`` prints, by kind of question, how often the expected document is cited, how often the
expected words stand in the answer or its quotes, and how well "not found" is told; then milliseconds a call.
Journal, tasks and queue are left out: this measures the reasoner over the real retriever. ``--show KIND`` prints the
answers that miss something; ``--data DIR`` keeps the loaded corpus there for the next time.
"""

import argparse
import asyncio
import sys
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from app.agents.registry import AgentRegistry
from app.domain.knowledge import Finding
from app.domain.plan import MATH_TOOL, ORCHESTRATOR, RAG_TOOL, SUMMARY_TOOL, PlannedStep
from app.domain.principal import SCOPES, Principal
from app.domain.tasks import Message
from app.embedding.cached import CachedEmbedder
from app.embedding.nano import NanoEmbedder
from app.errors import ToolFailed
from app.flow.claims import disagreements
from app.flow.resolve import judge, surest, without_losers
from app.flow.state import FlowLimits
from app.flow.wording import reason_for
from app.ingestion.pipeline import Ingestion
from app.ingestion.seed import SEED_USERS, read_seed
from app.reasoning import Classification, ComposeRequest, Composition, PlanRequest, Probe, Reasoner, ResolvedPoint
from app.reasoning.local import LocalReasoner
from app.reasoning.local.compose import composed
from app.retrieval.calibration import Calibration, load_calibration
from app.retrieval.search import Retriever
from app.storage.database import Database
from app.storage.embedded import start_embedded
from app.storage.migrate import upgrade
from app.storage.tenants import add_tenant
from app.tools.base import Tool, ToolCall
from app.tools.math import MathTool
from app.tools.rag import RagTool
from app.tools.summary import SummaryTool
from bench.corpora import read_lines, reader

LIMITS = FlowLimits()
NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
"""The demonstration's present: the last day of its logs."""
LEFT_OUT = ("log",)
"""Kinds that need more than documents."""


class Row(NamedTuple):
    """A demonstration question with what its answer must hold."""

    name: str
    kind: str
    principal: Principal
    text: str
    history: tuple[Message, ...]
    documents: frozenset[str]
    phrases: tuple[str, ...]
    outcome: str


class Answered(NamedTuple):
    """What came out for a row."""

    classification: Classification
    findings: tuple[Finding, ...]
    composition: Composition


def rows_of(folder: Path) -> list[Row]:
    """The questions beside the demonstration documents."""
    people = {(user.tenant, user.name): user.principal for user in SEED_USERS}
    return [
        Row(
            row["id"],
            row["kind"],
            people[row["tenant"], row["asker"]],
            row["question"],
            tuple(Message(role="user", content=text) for text in row.get("history", ())),
            frozenset(row["expect_documents"]),
            tuple(row["expect_phrases"]),
            row["outcome"],
        )
        for path in sorted(folder.glob("*/questions*.jsonl"))
        for row in read_lines(path)
        if row["kind"] not in LEFT_OUT
    ]


class Pipeline:
    """Classification, probes, plan, tools, conflict resolution and composition, in the order of the department flow."""

    def __init__(self, reasoner: Reasoner, retriever: Retriever):
        self._reasoner = reasoner
        self._retriever = retriever
        self._registry = AgentRegistry.load(None)
        self._tools: dict[str, Tool] = {
            RAG_TOOL: RagTool(retriever, reasoner, LIMITS.min_relevance_score),
            SUMMARY_TOOL: SummaryTool(reasoner),
            MATH_TOOL: MathTool(reasoner),
        }
        self.times: dict[str, list[float]] = defaultdict(list)

    async def ask(self, row: Row) -> Answered:
        """The whole way of one question."""
        offers = self._registry.offers_for(row.principal, None)
        started = time.perf_counter()
        found = await self._reasoner.classify(row.text, row.history, offers)
        self._took("classify", started)
        if found.kind == "chitchat":
            empty = Composition(answer="", outcome="chitchat", reasoning="", confidence=0, follow_up_questions=())
            return Answered(found, (), empty)
        probes = await self._retriever.probe(row.principal, found.sub_queries)
        request = PlanRequest(
            query=row.text,
            classification=found,
            agents=offers,
            probes=tuple(
                Probe(query=query, relevance_by_department=relevance)
                for query, relevance in zip(found.sub_queries, probes, strict=True)
            ),
            user_access=tuple(scope for scope in SCOPES if scope in row.principal.scopes),
            max_queries_per_agent=LIMITS.max_queries_per_agent,
        )
        started = time.perf_counter()
        plan = await self._reasoner.plan(request)
        self._took("plan", started)
        assert (await self._reasoner.review_plan(plan, request)).approved
        await self._retriever.prepare([text for step in plan.steps for _, text in step.queries])
        findings, computations = await self._run(row, found, plan.steps)
        findings = surest(findings)
        settled, points = await self._resolved(findings, found)
        started = time.perf_counter()
        composition = composed(
            ComposeRequest(
                query=found.refined_query,
                language=found.language,
                findings=settled,
                computations=tuple(computations),
                conflicts=points,
            )
        )
        self._took("compose", started)
        return Answered(found, findings, composition)

    async def _run(
        self, row: Row, found: Classification, steps: Sequence[PlannedStep]
    ) -> tuple[tuple[Finding, ...], list[str]]:
        """The findings in plan order, and what was computed."""
        kept: dict[tuple[str, int], Finding] = {}
        computations: list[str] = []
        for planned in steps:
            if planned.step.tool not in self._tools or planned.step.agent == ORCHESTRATOR:
                continue
            call = ToolCall(
                principal=row.principal,
                agent=planned.step.agent,
                departments=self._registry.spec(planned.step.agent).departments,
                message=planned.step.message,
                queries=planned.queries,
                refined_query=found.refined_query,
                language=found.language,
                findings=tuple(finding for finding in kept.values() if finding.agent == planned.step.agent),
                now=NOW,
            )
            started = time.perf_counter()
            try:
                result = await self._tools[planned.step.tool](call)
            except ToolFailed as refusal:
                computations.append(str(refusal))
                continue
            self._took(planned.step.tool, started)
            if planned.step.tool == MATH_TOOL:
                computations.append(result.text)
            for finding in result.findings:
                key = (finding.agent, finding.index)
                if key not in kept or (finding.found and not kept[key].found):
                    kept[key] = finding
        return tuple(kept.values()), computations

    async def _resolved(
        self, findings: tuple[Finding, ...], found: Classification
    ) -> tuple[tuple[Finding, ...], tuple[ResolvedPoint, ...]]:
        verdicts = [judge(one, LIMITS, {"general"}) for one in disagreements(findings)]
        settled = await without_losers(findings, verdicts, self._reasoner, found.language, LIMITS.min_relevance_score)
        points = tuple(
            ResolvedPoint(
                subject=verdict.winner.claim.query,
                winner=verdict.winner.claim.sentence,
                loser=verdict.loser.claim.sentence,
                winner_title=verdict.winner.claim.quote.passage.title,
                loser_title=verdict.loser.claim.quote.passage.title,
                reason=reason_for(
                    verdict.winner.factors, verdict.loser.factors, verdict.winner.claim.quote.passage, found.language
                ),
                decided=verdict.decided,
            )
            for verdict in verdicts
        )
        return settled, points

    def _took(self, name: str, started: float) -> None:
        self.times[name].append((time.perf_counter() - started) * 1000)


@dataclass
class Score:
    """Counts over one kind of question."""

    asked: int = 0
    cited: int = 0
    """An expected document is cited."""
    all_cited: int = 0
    said: int = 0
    """Every expected phrase stands in the answer or in a quote of it."""
    outcomes: Counter[str] = field(default_factory=Counter)

    def add(self, row: Row, answered: Answered) -> None:
        """Count one answer."""
        documents = cited(answered)
        self.asked += 1
        self.cited += bool(documents & row.documents)
        self.all_cited += row.documents <= documents
        self.said += says_all(row, answered)
        self.outcomes[answered.composition.outcome] += 1

    def line(self) -> str:
        """Shares and outcomes."""
        shares = (self.cited / self.asked, self.all_cited / self.asked, self.said / self.asked)
        told = ", ".join(f"{outcome} {count}" for outcome, count in self.outcomes.most_common())
        return f"{shares[0]:6.2f} {shares[1]:6.2f} {shares[2]:6.2f} {self.asked:5d}  {told}"


def cited(answered: Answered) -> set[str]:
    """external_ids of the documents quoted."""
    return {quote.passage.external_id for f in answered.findings if f.found for quote in f.quotes}


def says_all(row: Row, answered: Answered) -> bool:
    """Whether every expected phrase can be read, white space and case aside."""
    quotes = " ".join(quote.text for f in answered.findings if f.found for quote in f.quotes)
    read = _plain(f"{answered.composition.answer} {quotes}")
    return all(_plain(phrase) in read for phrase in row.phrases)


def _plain(text: str) -> str:
    return " ".join(text.split()).lower()


@asynccontextmanager
async def kept_corpus(
    embedder: CachedEmbedder, calibration: Calibration, seed: Path, folder: Path
) -> AsyncIterator[Database]:
    """The demonstration tenants in a database in `folder`; only what changed is embedded again."""
    server = start_embedded(folder)
    try:
        upgrade(server.owner_url)
        tenants = read_seed(seed).tenants
        await _add_tenants(server.maintenance_url, [tenant.name for tenant in tenants])
        database = await Database.connect(server.app_url)
        try:
            ingestion = Ingestion(database, embedder, calibration=calibration)
            for tenant in tenants:
                await ingestion.ingest(reader(tenant.name), tenant.documents)
            yield database
        finally:
            await database.dispose()
    finally:
        server.stop()


async def _add_tenants(url: str, names: Sequence[str]) -> None:
    operator = await Database.connect(url, pool_size=2)
    try:
        async with operator.operator_scope() as tx:
            for name in names:
                await add_tenant(tx, name)
    finally:
        await operator.dispose()


async def measure(seed: Path, data: Path, show: str) -> None:
    """Ask everything and print the table."""
    embedder = CachedEmbedder(NanoEmbedder(), max_entries=50_000)
    calibration = load_calibration(embedder.model)
    scores: dict[str, Score] = defaultdict(Score)
    confusion: Counter[tuple[bool, bool]] = Counter()
    async with kept_corpus(embedder, calibration, seed, data) as database:
        reasoner = LocalReasoner(embedder, data / "reasoner")
        await reasoner.warm()
        pipeline = Pipeline(reasoner, Retriever(database, embedder, calibration, caching=False))
        for row in rows_of(seed):
            answered = await pipeline.ask(row)
            nothing = answered.composition.outcome in ("not_found", "chitchat")
            confusion[row.outcome == "not_found", nothing] += 1
            scores[row.kind if row.outcome != "not_found" else "(not found)"].add(row, answered)
            if show and _misses(row, answered) and show in (row.kind, row.name, "all"):
                _say(_told(row, answered))
    await embedder.aclose()
    _print(scores, confusion, pipeline.times)


def _misses(row: Row, answered: Answered) -> bool:
    if row.outcome == "not_found":
        return answered.composition.outcome != "not_found"
    return not says_all(row, answered) or not row.documents & cited(answered)


def _told(row: Row, answered: Answered) -> str:
    confidences = [f"{f.agent} {f.confidence:.2f} {f.query}" for f in answered.findings]
    return (
        f"\n## {row.name} {row.kind} | {row.text} | {answered.classification.sub_queries}\n"
        f"   wants {row.outcome} {row.phrases} {set(row.documents)}; cites {cited(answered)}\n   {confidences}\n"
        f"   {answered.composition.outcome} {answered.composition.confidence:.2f}: {answered.composition.answer}"
    )


def _print(scores: dict[str, Score], confusion: Counter[tuple[bool, bool]], times: dict[str, list[float]]) -> None:
    _say(f"{'kind':16} {'cited':>6} {'all':>6} {'said':>6} {'asked':>5}  outcomes")
    for kind in sorted(scores):
        _say(f"{kind:16} {scores[kind].line()}")
    answerable = [score for kind, score in scores.items() if kind != "(not found)"]
    asked = sum(score.asked for score in answerable)
    shares = (sum(score.cited for score in answerable) / asked, sum(score.said for score in answerable) / asked)
    _say(f"answerable: cited {shares[0]:.3f}, said {shares[1]:.3f}")
    right, wrong, missed = confusion[True, True], confusion[False, True], confusion[True, False]
    _say(f"not found: precision {right / max(1, right + wrong):.3f}, recall {right / max(1, right + missed):.3f}")
    for name, taken in times.items():
        ordered = sorted(taken)
        _say(f"{name:14} p50 {ordered[len(ordered) // 2]:7.1f} ms, p95 {ordered[int(len(ordered) * 0.95)]:7.1f} ms")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=Path, default=Path("seed_data"))
    parser.add_argument("--data", type=Path, default=Path(".conclave/bench"))
    parser.add_argument("--show", default="", help="kind or id whose faulty answers are printed; 'all'")
    given = parser.parse_args()
    asyncio.run(measure(given.seed, given.data, given.show))
