"""`conclave explain-access`: whether a user may read a document, and which part of the rule decides."""

from collections.abc import Sequence
from datetime import date
from typing import Annotated

import typer
from rich.console import Console

from app.cli.connecting import opened_storage
from app.cli.library import id_of, state_of
from app.cli.output import OK, period, print_json, print_table, run_async, text
from app.domain.documents import DocumentView, VersionView
from app.domain.principal import GENERAL, Principal
from app.domain.record import Record
from app.ingestion.catalogue import Catalogue
from app.storage.tenants import own_day
from app.text.dates import today_in

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
    rights = (_scope(user, reader, document), _department(user, reader, document))
    checks = (*rights, _published(document), _in_force(document, versions, today))
    refusing = next((one for one in checks if not one.holds), None)
    decisive = refusing or checks[document.scope == "private"]
    verb = "may not" if refusing else "may"
    sentence = f"{user} {verb} read “{document.title}” ({document.external_id}): {decisive.reason}."
    if reader.is_admin and refusing in rights:
        sentence += " An administrator sees it in the catalogue, but not what it says."
    return Explanation(is_allowed=refusing is None, decided_by=decisive.part, sentence=sentence, checks=checks)


def _scope(user: str, reader: Principal, document: DocumentView) -> Check:
    own, holds = ", ".join(sorted(reader.scopes)), document.scope in reader.scopes
    reason = f"it is {document.scope}, and {user} {'holds' if holds else 'does not hold'} that scope"
    return Check(part="scope", document=document.scope, user=own, holds=holds, reason=reason)


def _department(user: str, reader: Principal, document: DocumentView) -> Check:
    own, department, holds = ", ".join(sorted(reader.departments)), document.department, True
    if document.scope != "private":
        reason = f"a document that is {document.scope} may be read in every department"
    elif department == GENERAL:
        reason = f"it is private to {GENERAL}, to which everybody belongs"
    else:
        holds = department in reader.departments
        reason = f"it is private to {department}, and {user} {'belongs' if holds else 'does not belong'} there"
    return Check(part="department", document=department, user=own, holds=holds, reason=reason)


def _published(document: DocumentView) -> Check:
    holds = document.current_version > 0
    state = f"version {document.current_version}" if holds else state_of(document)
    reason = f"it is {'published' if holds else 'not published yet'} ({state})"
    return Check(part="published", document=state, user="", holds=holds, reason=reason)


def _in_force(document: DocumentView, versions: Sequence[VersionView], today: date) -> Check:
    own = (document.effective_from, document.effective_to)
    known = [*([own] if document.current_version else []), *_days_before(versions, document.current_version)]
    held = [days for days in known if (days[0] or date.min) <= today <= (days[1] or date.max)]
    told = period(*(held or [own])[0])
    reason = f"it is in force today ({told})"
    if not held:
        reason = f"it is not in force today ({told}); questions about a day of that time (--as-of) may use it"
    return Check(part="in force", document=told, user=f"today {today}", holds=bool(held), reason=reason)


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
