"""`conclave explain-access`: whether a user may read a document, and which part of the rule decides."""

from collections.abc import Sequence
from datetime import date
from typing import Annotated, NamedTuple

import typer
from rich.console import Console

from app.cli.connecting import opened_storage
from app.cli.library import id_of, state_of
from app.cli.output import OK, period, print_json, run_async, text
from app.domain.documents import DocumentView, VersionView
from app.domain.principal import GENERAL, Principal
from app.domain.record import Record
from app.ingestion.catalogue import Catalogue
from app.storage.tenants import own_day
from app.text.dates import today_in

_VERSIONS = 50


class Explanation(Record):
    """Whether a user may read a document: all parts of the rule must hold."""

    is_allowed: bool
    decided_by: str
    """The first part that does not hold; else ``department`` for a private document, ``scope`` for others."""
    sentence: str


class _Part(NamedTuple):
    """One part of the rule."""

    name: str
    holds: bool
    reason: str
    """Why it holds or does not, as the end of a sentence."""


@run_async
async def explain_access(
    user: Annotated[str, typer.Argument(metavar="TENANT/USER")],
    document: Annotated[str, typer.Argument(metavar="DOC", help="Its id or external_id.")],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> int:
    """Say whether a user may read a document today, and why."""
    async with opened_storage() as storage:
        reader = (await storage.claims_of(user)).principal()
        operator = (await storage.operator_of(user.partition("/")[0])).principal()
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
    else:
        Console().print(text(explanation.sentence, "green" if explanation.is_allowed else "red"))
    return OK


def explain(
    user: str, reader: Principal, document: DocumentView, versions: Sequence[VersionView], today: date
) -> Explanation:
    """The permission rule for one reader and one document of the same tenant, part by part."""
    rights = (_scope(user, reader, document), _department(user, reader, document))
    parts = (*rights, _published(document), _in_force(document, versions, today))
    refusing = next((one for one in parts if not one.holds), None)
    decisive = refusing or parts[document.scope == "private"]
    verb = "may not" if refusing else "may"
    sentence = f"{user} {verb} read “{document.title}” ({document.external_id}): {decisive.reason}."
    if reader.is_admin and refusing in rights:
        sentence += " An administrator sees it in the catalogue, but not what it says."
    return Explanation(is_allowed=refusing is None, decided_by=decisive.name, sentence=sentence)


def _scope(user: str, reader: Principal, document: DocumentView) -> _Part:
    holds = document.scope in reader.scopes
    reason = f"it is {document.scope}, and {user} {'holds' if holds else 'does not hold'} that scope"
    return _Part("scope", holds, reason)


def _department(user: str, reader: Principal, document: DocumentView) -> _Part:
    department, holds = document.department, True
    if document.scope != "private":
        reason = f"a document that is {document.scope} may be read in every department"
    elif department == GENERAL:
        reason = f"it is private to {GENERAL}, to which everybody belongs"
    else:
        holds = department in reader.departments
        reason = f"it is private to {department}, and {user} {'belongs' if holds else 'does not belong'} there"
    return _Part("department", holds, reason)


def _published(document: DocumentView) -> _Part:
    holds = document.current_version > 0
    state = f"version {document.current_version}" if holds else state_of(document)
    return _Part("published", holds, f"it is {'published' if holds else 'not published yet'} ({state})")


def _in_force(document: DocumentView, versions: Sequence[VersionView], today: date) -> _Part:
    own = (document.effective_from, document.effective_to)
    known = [*([own] if document.current_version else []), *_days_before(versions, document.current_version)]
    held = [days for days in known if (days[0] or date.min) <= today <= (days[1] or date.max)]
    if held:
        return _Part("in force", True, f"it is in force today ({period(*held[0])})")
    reason = f"it is not in force today ({period(*own)}); questions about a day of that time (--as-of) may use it"
    return _Part("in force", False, reason)


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
