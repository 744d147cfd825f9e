"""The documents of a tenant as their administrator handles them: look, change, delete, compare versions."""

import asyncio
import difflib
from collections.abc import Callable, Mapping, Sequence
from datetime import date, tzinfo
from typing import Any
from uuid import UUID

from pydantic import AwareDatetime, TypeAdapter

from app.domain.documents import DocumentText, DocumentTitle, DocumentView, TextChange, VersionView
from app.domain.principal import Principal
from app.errors import AppError, ErrorCode
from app.ingestion.intake import SAID, aware, check_department, demand_admin
from app.storage import arrivals, documents
from app.storage.database import Database, Transaction
from app.storage.documents import VersionText
from app.storage.paging import cut_page, read_cursor
from app.storage.publishing import changes_one_at_a_time, settle
from app.storage.tenants import own_day
from app.text.dates import today_in

_COMPARED_LINES = 1_000
"""Of each version, from the first that differs; comparing takes time that grows faster than their number."""
_CHANGES_SHOWN = 100
_CHANGED_LINES_SHOWN = 40
_SHOWN_CHARS, _SHOWN_DOCUMENTS = 200_000, 5
"""Of a document's text, and of the documents of one address, what a reader is shown."""
_WORDS = {"title", "url"}
"""Fields of which the audit says that they were changed, not into what."""
_PLACE: TypeAdapter[tuple[AwareDatetime, UUID]] = TypeAdapter(tuple[AwareDatetime, UUID])
"""When a document was last changed, and its id."""


class Catalogue:
    """Documents by id. Foreign, unknown and unreadable ids give the same 404."""

    def __init__(self, database: Database, today: Callable[[tzinfo], date] = today_in):
        self._database, self._today = database, today

    async def find(self, principal: Principal, document_id: UUID) -> DocumentView:
        """A document. Raises `AppError` (404)."""
        async with self._database.principal_scope(principal, durable=False) as tx:
            return await _found(tx, document_id)

    async def page(
        self, principal: Principal, *, department: str | None, status: str | None, cursor: str | None, limit: int
    ) -> tuple[tuple[DocumentView, ...], str | None]:
        """Documents the caller may see, last changed first, and where the next page begins.

        Raises `AppError` (PAYLOAD_INVALID) for a cursor that was not given out here.
        """
        behind = read_cursor(_PLACE, cursor)
        async with self._database.principal_scope(principal, durable=False) as tx:
            found = await documents.page(tx, department=department, status=status, behind=behind, limit=limit + 1)
        return cut_page(_PLACE, found, limit, lambda last: (last.updated_at, last.document_id))

    async def amend(self, principal: Principal, document_id: UUID, changes: Mapping[str, Any]) -> DocumentView:
        """Change fields (`changes` names only those); who may read the chunks changes in the same commit.

        Holds for a version on its way too. Raises `AppError`.
        """
        demand_admin(principal, "changes documents")
        if "department" in changes:
            check_department(changes["department"])
        if "created_at" in changes:
            changes = {**changes, "created_at": aware(changes["created_at"])}
        async with self._database.principal_scope(principal) as tx:
            await changes_one_at_a_time(tx)
            before = await _found(tx, document_id)
            if changes:
                if not await documents.amend(tx, document_id, changes):
                    detail = "effective_to: must not be before effective_from."
                    raise AppError(ErrorCode.PAYLOAD_INVALID, detail, status=422)
                affected = {before.external_id, before.supersedes, changes.get("supersedes")}
                await settle(tx, affected, await own_day(tx, self._today))
                told = dict(changes) | dict.fromkeys(_WORDS & changes.keys(), True)
                await documents.note(tx, "document_changed", str(document_id), told)
            return await _found(tx, document_id)

    async def delete(self, principal: Principal, document_id: UUID) -> None:
        """Remove a document with everything made from it; what it superseded holds again. Raises `AppError`."""
        demand_admin(principal, "changes documents")
        async with self._database.principal_scope(principal) as tx:
            await changes_one_at_a_time(tx)
            gone = await _found(tx, document_id)
            await documents.delete(tx, document_id)
            await settle(tx, {gone.supersedes}, await own_day(tx, self._today))
            await documents.note(tx, "document_deleted", str(document_id), {"versions": gone.latest_version})

    async def original(self, principal: Principal, document_id: UUID) -> tuple[bytes, str]:
        """(bytes, file name) of the version that is found. Raises `AppError` (404), also when it was no file."""
        async with self._database.principal_scope(principal, durable=False) as tx:
            view = await _found(tx, document_id)
            found = await arrivals.original_of(tx, document_id, view.current_version or view.latest_version)
        if found is None:
            raise _not_found()
        return found

    async def texts(self, principal: Principal, url: str) -> list[DocumentText]:
        """The documents of an address, as an evidence names it, that the caller may read; the latest in force first.

        Raises `AppError` (404) when there is none.
        """
        async with self._database.principal_scope(principal, durable=False) as tx:
            found = await documents.texts(tx, url, most_chars=_SHOWN_CHARS, limit=_SHOWN_DOCUMENTS)
        if not found:
            raise _not_found()
        return found

    async def titles(self, principal: Principal, urls: Sequence[str]) -> list[DocumentTitle]:
        """What the documents of these addresses are called, the latest in force first; what the caller may not read is
        left out."""
        async with self._database.principal_scope(principal, durable=False) as tx:
            return await documents.titles(tx, urls, limit=_SHOWN_DOCUMENTS * len(urls))

    async def versions(self, principal: Principal, document_id: UUID, limit: int) -> list[VersionView]:
        """Versions whose text the caller may read, newest first, each compared with the published one before it."""
        async with self._database.principal_scope(principal, durable=False) as tx:
            await _found(tx, document_id)
            found = await documents.versions(tx, document_id, limit)
        return [await asyncio.to_thread(_compared, one) for one in found]


def _compared(version: VersionText) -> VersionView:
    if version.text_before is None or version.draft_before is None or not version.text:
        return version.view
    before, now = version.draft_before, version.draft
    changes, is_cut = text_changes(version.text_before, version.text)
    fields = {name: (before.get(name), now.get(name)) for name in SAID if before.get(name) != now.get(name)}
    return version.view.model_copy(update={"changes": changes, "is_cut": is_cut, "changed_fields": fields})


def text_changes(before: str, now: str) -> tuple[tuple[TextChange, ...], bool]:
    """(runs of lines that differ, in order; whether some were left out). Blank lines do not count."""
    old, new = ([line.strip() for line in text.splitlines() if line.strip()] for text in (before, now))
    for _ in range(2):  # what is alike at the beginning, then at the end
        least = min(len(old), len(new))
        same = next((at for at in range(least) if old[at] != new[at]), least)
        old, new = old[same:][::-1], new[same:][::-1]
    is_cut = max(len(old), len(new)) > _COMPARED_LINES
    old, new = old[:_COMPARED_LINES], new[:_COMPARED_LINES]
    steps = difflib.SequenceMatcher(None, old, new).get_opcodes()
    runs = [(old[a:b], new[c:d]) for kind, a, b, c, d in steps if kind != "equal"]
    is_cut = (
        is_cut or len(runs) > _CHANGES_SHOWN or any(len(side) > _CHANGED_LINES_SHOWN for run in runs for side in run)
    )
    most = _CHANGED_LINES_SHOWN
    shown = (TextChange(removed=tuple(gone[:most]), added=tuple(come[:most])) for gone, come in runs[:_CHANGES_SHOWN])
    return tuple(shown), is_cut


async def _found(tx: Transaction, document_id: UUID) -> DocumentView:
    view = await documents.find(tx, document_id)
    if view is None:
        raise _not_found()
    return view


def _not_found() -> AppError:
    return AppError(ErrorCode.NOT_FOUND, "There is no such document.", status=404)
