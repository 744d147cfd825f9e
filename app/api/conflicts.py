"""What runs weighed: weighing it again by other weights, and the ledger."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import AfterValidator, Field

from app.api.deps import Caller, Services
from app.api.schemas import EXAMPLES, Body, Problem, View
from app.api.tasks import own_run
from app.domain.answer import Recency, ResolutionRules
from app.domain.conflicts import ConflictType, Rule, SourceKind, normalised
from app.domain.principal import Scope
from app.storage.conflicts import Entry
from app.tasks.reviews import Again, Wanted

router = APIRouter(tags=["conflicts"])
Weight = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
Share = Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]


class RulesBody(Body):
    """Steps of the rules (§4.1 of the flow); what is left out stays."""

    priority_by_scope: dict[Scope, Share] = {}
    """Factors of scopes."""
    priority_by_recency: dict[Literal["within_30_days", "within_90_days", "older"], Share] = {}
    """Factors of ages, counted from the newer source."""


class ResolveBody(Body):
    """By what to weigh again; what is left out stays as it was in the run."""

    model_config = {
        "json_schema_extra": {
            "examples": [
                {"weights": {"domain": 0.2, "scope": 0.2, "recency": 0.5, "relevance": 0.1}},
                {"threshold": 0.2, "rules": {"priority_by_scope": {"public": 0.7}}},
            ]
        }
    }

    weights: Annotated[dict[str, Weight], AfterValidator(normalised)] | None = None
    """One for each of ``domain``, ``scope``, ``recency`` and ``relevance``; they count relative to their sum."""
    threshold: Share | None = None
    """The margin from which the winner holds."""
    rules: RulesBody | None = None

    def wanted(self) -> Wanted:
        """As a record of the services below."""
        rules = {} if self.rules is None else self.rules.model_dump()
        return Wanted(weights=self.weights, threshold=self.threshold, **rules)


class SourceView(View):
    """One source of a conflict."""

    kind: SourceKind
    document_id: UUID | None = None
    """Null for a file somebody brought along, in the list of an administrator."""
    url: str | None = None
    """Null, like title and claim, in the list of an administrator."""
    title: str | None = None
    claim: str | None = None
    """The sentence that was weighed; empty where this source does not have the rule that the other one has."""
    department: str
    scope: Scope
    effective: datetime
    """When it began to hold."""
    recency: Recency
    """Counted from the newer of the two sources."""
    factors: dict[str, float]
    """``domain``, ``scope``, ``recency`` and ``relevance``, each 0–1."""
    score: float
    """The factors' weighted sum."""


class VerdictView(View):
    """Which source came out first, and how."""

    winner: SourceView
    loser: SourceView
    margin: float
    """The winner's score less the loser's; a rule may choose the lighter one."""
    decided: bool
    """False = below the threshold: both sides are shown."""
    rule: Rule
    weights: dict[str, float]
    """Sum to 1."""
    threshold: float
    rules: ResolutionRules
    """They gave the factors of scope and recency."""


class ResolvedView(View):
    """A conflict as the run weighed it and as it is weighed now."""

    subject: str
    conflict_type: ConflictType
    reason: str
    before: VerdictView
    after: VerdictView
    winner_changed: bool


class ResolutionView(View):
    """The conflicts of a run, weighed again."""

    task_id: UUID
    conflicts: tuple[ResolvedView, ...]


class LedgerEntryView(View):
    """A conflict of the ledger."""

    task_id: UUID
    number: int
    """Within its run, from 1."""
    created_at: datetime
    """When the run ended."""
    subject: str | None = None
    """The question; null in the list of an administrator."""
    conflict_type: ConflictType
    reason: str
    verdict: VerdictView


class LedgerPage(View):
    """Conflicts, newest first."""

    conflicts: tuple[LedgerEntryView, ...]
    next_cursor: str | None
    """Ask again with ``?cursor=`` for the next page; null at the end."""


@router.post(
    "/tasks/{task_id}/resolve",
    summary="Weigh a run's conflicts by other weights",
    responses={
        200: {"content": {"application/json": {"example": EXAMPLES["resolution"]}}},
        404: {"model": Problem},
        422: {"model": Problem},
    },
)
async def resolve(task_id: UUID, caller: Caller, services: Services, body: ResolveBody | None = None) -> ResolutionView:
    """What a run of yours weighed, by the run's own weights and by these: no model is asked, no document is read, and
    nothing is stored. A conflict with a source you may not read any more is left out. Weights count relative to their
    sum; without a body the run's own verdicts come again."""
    await own_run(services, caller, task_id)
    again = await services.reviews.resolve(caller, task_id, (body or ResolveBody()).wanted())
    return ResolutionView(task_id=task_id, conflicts=tuple(map(_resolved, again)))


@router.get("/conflicts", summary="Conflicts that were weighed", responses={422: {"model": Problem}})
async def conflicts(
    caller: Caller,
    services: Services,
    cursor: Annotated[str | None, Query(max_length=300)] = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> LedgerPage:
    """Your own, as far as you may still read both sources. For an administrator the whole tenant's, in figures: without
    question, claims, titles and addresses."""
    page, next_cursor = await services.reviews.page_conflicts(caller, cursor, limit)
    return LedgerPage(conflicts=tuple(map(_entry, page)), next_cursor=next_cursor)


def _resolved(again: Again) -> ResolvedView:
    return ResolvedView(
        subject=again.before.subject,
        conflict_type=again.before.conflict_type,
        reason=again.before.reason,
        before=_verdict(again.before.entry()),
        after=_verdict(again.after.entry()),
        winner_changed=again.is_winner_changed,
    )


def _entry(entry: Entry) -> LedgerEntryView:
    created_at, task_id, number = entry.place
    told = {name: entry.details.get(name) for name in ("subject", "conflict_type", "reason")}
    verdict = _verdict(entry.details)
    return LedgerEntryView.model_validate(
        {**told, "task_id": task_id, "number": number, "created_at": created_at, "verdict": verdict}
    )


def _verdict(entry: dict[str, Any]) -> VerdictView:
    """The verdict in a ledger's entry (see `Conflict.entry`)."""
    told = {name: entry[name] for name in ("winner", "loser", "margin", "decided", "rule")}
    return VerdictView.model_validate({**told, **entry["weighing"]})
