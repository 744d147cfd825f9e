"""Look at runs that have ended: feedback, what they weighed, and their figures, without a model or a document."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import AwareDatetime, Field, TypeAdapter

from app.domain.answer import PerformanceMetrics, ResolutionRules
from app.domain.conflicts import Conflict, Weighing, normalised
from app.domain.principal import Principal
from app.domain.record import Record
from app.journal import not_found
from app.storage import conflicts, oversight
from app.storage.conflicts import Entry, Feedback, Place
from app.storage.database import Database
from app.storage.paging import cut_page, read_cursor

_PLACE: TypeAdapter[Place] = TypeAdapter(tuple[AwareDatetime, UUID, Annotated[int, Field(ge=0, lt=2**31)]])


class Wanted(Record):
    """By what to weigh again; what is None stays as it was in the run."""

    weights: dict[str, float] | None = None
    threshold: float | None = None
    priority_by_scope: dict[str, float] | None = None
    """Single steps may be left out."""
    priority_by_recency: dict[str, float] | None = None

    def instead_of(self, weighing: Weighing) -> Weighing:
        """The weighing with these changes."""
        rules = weighing.rules
        return Weighing(
            weights=weighing.weights if self.weights is None else normalised(self.weights),
            threshold=weighing.threshold if self.threshold is None else self.threshold,
            rules=ResolutionRules(
                priority_by_domain=rules.priority_by_domain,
                priority_by_scope=rules.priority_by_scope | (self.priority_by_scope or {}),
                priority_by_recency=rules.priority_by_recency | (self.priority_by_recency or {}),
                resolution_strategy=rules.resolution_strategy,
            ),
        )


class Again(Record):
    """A conflict as the run weighed it and as it would be weighed otherwise."""

    before: Conflict
    after: Conflict

    @property
    def is_winner_changed(self) -> bool:
        """Whether another source comes out first."""
        return self.before.winner.document_id != self.after.winner.document_id


class Picture(Record):
    """The figures of the runs that ended since a time."""

    since: datetime
    runs: int
    performance_metrics: PerformanceMetrics
    """Times are means over the runs, calls are sums, qualities the most frequent ones."""


class RunReviews:
    """Feedback, conflicts and figures of runs; every method does I/O."""

    def __init__(self, database: Database):
        self._database = database

    async def put_feedback(self, principal: Principal, task_id: UUID, rating: int, correction: str) -> Feedback:
        """Keep it in place of what was said before. Raises `AppError` (404) for a run that is not the caller's own."""
        async with self._database.principal_scope(principal) as tx:
            kept = await conflicts.put_feedback(tx, task_id, rating, correction)
        if kept is None:
            raise not_found()
        return kept

    async def resolve(self, principal: Principal, task_id: UUID, wanted: Wanted) -> tuple[Again, ...]:
        """The conflicts of an own run by other weights; nothing is stored. Left out are those with a source the caller
        may not read now. Raises `ValueError` for weights that are none."""
        async with self._database.principal_scope(principal) as tx:
            found = await conflicts.of_run(tx, task_id)
        return tuple(Again(before=one, after=one.weighed_by(wanted.instead_of(one.weighing))) for one in found)

    async def page_conflicts(
        self, principal: Principal, cursor: str | None, limit: int
    ) -> tuple[tuple[Entry, ...], str | None]:
        """A page of the caller's conflicts, or of the tenant's without texts for an administrator, newest first, and
        the next cursor. Raises `AppError` (422) for a foreign cursor."""
        behind = read_cursor(_PLACE, cursor)
        async with self._database.principal_scope(principal) as tx:
            listing = conflicts.figures if principal.is_admin else conflicts.page
            found = await listing(tx, behind, limit + 1)
        return cut_page(_PLACE, found, limit, lambda last: last.place)

    async def picture(self, principal: Principal, since: datetime) -> Picture:
        """Of the caller's own runs; of all the tenant's for an administrator."""
        async with self._database.principal_scope(principal) as tx:
            found = await oversight.picture(tx, since, of_tenant=principal.is_admin)
        runs = found.pop("runs")
        return Picture(since=since, runs=runs, performance_metrics=PerformanceMetrics.model_validate(found))
