"""`conclave explain-access`: whether a user may read a document, and which part of the rule decides."""

from collections.abc import Sequence
from datetime import date
from typing import Annotated

import typer
from rich.console import Console

from app.cli.connecting import opened_storage
from app.cli.library import id_of
from app.cli.output import OK, period, print_json, print_table, run_async, text
from app.domain.documents import DocumentView, VersionView
from app.domain.principal import GENERAL, Principal
from app.domain.record import Record
from app.domain.zones import today_in
from app.ingestion.catalogue import Catalogue
from app.storage.tenants import own_day

_VERSIONS = 50


class Check(Record):
    """One part of the rule."""

    part: str
    document: str
    """What the document says to it."""
    user: str
    """What the user, or the day, says to it."""
    holds: bool
    reason: str
    """Why it holds or does not, as the end of a sentence."""


class Explanation(Record):
    """The answer with its parts; all of them must hold."""

    is_allowed: bool
    decided_by: str
    """The first part that does not hold; else ``department`` for a private document, ``scope`` for others."""
    sentence: str
    checks: tuple[Check, ...]


@run_async
async def explain_access(
    user: Annotated[str, typer.Argument(metavar="TENANT/USER")],
    document: Annotated[str, typer.Argument(metavar="DOC", help="Its id or external_id.")],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> int:
    """Say whether a user may read a document today, and why."""
    async with opened_storage() as storage:
        reader = (await storage.directory.claims_of(user)).principal()
        operator = (await storage.directory.operator_of(user.partition("/")[0])).principal()
        catalogue = Catalogue(storage.database)
        view = await catalogue.find(operator, id_of(operator.tenant_id, document))
        # Versions are shown only to whoever may read them; the operator belongs to every department there is.
        everywhere = operator.model_copy(update={"departments": operator.departments | {view.department}})
        versions = await catalogue.versions(everywhere, view.document_id, _VERSIONS)
        async with storage.database.principal_scope(operator) as tx:
            today = await own_day(tx, today_in)
    explanation = explain(user, reader, view, versions, today)
    if as_json:
        told = {"user": user, "document_id": view.document_id, "external_id": view.external_id}
        print_json(Console(), {**told, **explanation.model_dump(mode="json")})
        return OK
    out = Console()
    out.print(text(explanation.sentence, "green" if explanation.is_allowed else "red"))
    rows = ((one.part, one.document, one.user, "yes" if one.holds else "no") for one in explanation.checks)
    print_table(out, ("part of the rule", "document", "user", "holds"), rows)
    return OK


def explain(
    user: str, reader: Principal, document: DocumentView, versions: Sequence[VersionView], today: date
) -> Explanation:
    """The permission rule for one reader and one document of the same tenant, part by part."""
    checks = (
        _scope(user, reader, document),
        _department(user, reader, document),
        _published(document),
        _in_force(document, versions, today),
    )
    refusing = next((one for one in checks if not one.holds), None)
    allowing = checks[1] if document.scope == "private" else checks[0]
    decisive = refusing or allowing
    verb = "may not" if refusing else "may"
    sentence = f"{user} {verb} read “{document.title}” ({document.external_id}): {decisive.reason}."
    if reader.is_admin and refusing in checks[:2]:
        sentence += " An administrator sees it in the catalogue, but not what it says."
    return Explanation(is_allowed=refusing is None, decided_by=decisive.part, sentence=sentence, checks=checks)


def _scope(user: str, reader: Principal, document: DocumentView) -> Check:
    holds = document.scope in reader.scopes
    reason = f"it is {document.scope}, and {user} {'holds' if holds else 'does not hold'} that scope"
    return Check(
        part="scope", document=document.scope, user=", ".join(sorted(reader.scopes)), holds=holds, reason=reason
    )


def _department(user: str, reader: Principal, document: DocumentView) -> Check:
    own = ", ".join(sorted(reader.departments))
    if document.scope != "private":
        holds, reason = True, f"a document that is {document.scope} may be read in every department"
    elif document.department == GENERAL:
        holds, reason = True, f"it is private to {GENERAL}, to which everybody belongs"
    else:
        holds = document.department in reader.departments
        reason = f"it is private to {document.department}, and {user} {'belongs' if holds else 'does not belong'} there"
    return Check(part="department", document=document.department, user=own, holds=holds, reason=reason)


def _published(document: DocumentView) -> Check:
    holds = document.current_version > 0
    state = (
        f"version {document.current_version}" if holds else f"{document.status.value} {document.status_code}".strip()
    )
    reason = f"it is published ({state})" if holds else f"it is not published yet ({state})"
    return Check(part="published", document=state, user="", holds=holds, reason=reason)


def _in_force(document: DocumentView, versions: Sequence[VersionView], today: date) -> Check:
    days = [(document.effective_from, document.effective_to)] if document.current_version else []
    days += _days_before(versions, document.current_version)
    begins, ends = next(
        ((a, b) for a, b in days if _holds(a, b, today)), (document.effective_from, document.effective_to)
    )
    holds = _holds(begins, ends, today)
    days_told = period(begins, ends)
    reason = f"it is in force today ({days_told})"
    if not holds:
        reason = f"it is not in force today ({days_told}); questions about a day of that time (--as-of) may use it"
    return Check(part="in force", document=days_told, user=f"today {today}", holds=holds, reason=reason)


def _days_before(versions: Sequence[VersionView], current: int) -> list[tuple[date | None, date | None]]:
    """The days earlier versions stand for: up to the day before a later one begins."""
    published = [one for one in versions if one.published_at is not None and one.version <= current]
    found: list[tuple[date | None, date | None]] = []
    for one in published:
        later = [other.effective_from or date.min for other in published if other.version > one.version]
        if later and min(later) > (one.effective_from or date.min):
            last = date.fromordinal(min(later).toordinal() - 1)
            found.append((one.effective_from, min(last, one.effective_to or last)))
    return found


def _holds(begins: date | None, ends: date | None, day: date) -> bool:
    return (begins or date.min) <= day <= (ends or date.max)
