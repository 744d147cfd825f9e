"""Documents: bringing them in, looking, changing, deleting, comparing versions, and what is wrong with them."""

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import quote
from uuid import UUID, uuid4, uuid5

from fastapi import APIRouter, Depends, Header, Query, Request
from pydantic import Field, ValidationError
from starlette.responses import Response

from app.api.deps import Caller, Services
from app.api.schemas import Body, Day, Label, Problem, Text, View
from app.api.uploads import FORM, media_type_of, read_form
from app.domain.documents import DocumentFields, DocumentStatus, DocumentView, Upload, VersionView
from app.domain.health import FindingAct, Handling, HealthFilter, HealthReport, Ruling
from app.domain.principal import Principal, Scope
from app.domain.record import Address, Moment
from app.domain.tasks import NewTask
from app.errors import AppError, ErrorCode, describe_validation
from app.ingestion.intake import document_id_of, external_id_of

router = APIRouter(prefix="/documents", tags=["documents"])
findings = APIRouter(prefix="/contradictions", tags=["documents"])
_MAX_FIELDS, _COMPARED_AT_ONCE = 20, 50
Filter = Annotated[HealthFilter, Depends()]
Cursor = Annotated[str | None, Query(max_length=300)]
Limit = Annotated[int, Query(ge=1, le=200)]
_NOT_FOUND: dict[int | str, dict[str, Any]] = {404: {"model": Problem}}


class AmendBody(Body):
    """What is to change; a field that is left out stays. A date or ``supersedes`` may be null."""

    url: Address | None = None
    department: Label | None = None
    scope: Scope | None = None
    authority: Label | None = None
    lang: Label | None = None
    created_at: Moment | None = None
    effective_from: Day | None = None
    """In force from this day; a version that begins later leaves the one before for the days until then."""
    effective_to: Day | None = None
    supersedes: Text | None = None
    """external_id of the document this one replaces."""


class DocumentBody(AmendBody):
    """A document as JSON, or the fields beside ``file`` in a form. What is left out stays as it was; one that is not
    there yet needs its department and scope."""

    title: Text | None = None
    external_id: Text | None = None
    """Unique in the company; the same one again makes a new version."""

    def fields(self) -> DocumentFields:
        """What was said, as a domain record."""
        said = self.model_dump(include=self.model_fields_set & DocumentFields.model_fields.keys())
        return DocumentFields.model_validate(said)


class TextDocumentBody(DocumentBody):
    """A document whose text is sent as it is: Markdown or plain text."""

    text: Text


class FindingBody(Ruling):
    """What is done about a finding: a verdict to ``decide``, a person to ``assign``, else a note alone."""

    act: FindingAct
    note: Text = Field("", max_length=2_000)


class Accepted(View):
    """A document on its way; follow ``/api/v1/tasks/{task_id}/events``."""

    document_id: UUID
    task_id: UUID


class DocumentPage(View):
    """Documents, last changed first."""

    documents: tuple[DocumentView, ...]
    next_cursor: str | None
    """Ask again with ``?cursor=`` for the next page; null at the end."""


class VersionList(View):
    """Versions, newest first."""

    versions: tuple[VersionView, ...]


_FORM = {
    "type": "object",
    "required": ["file"],
    "properties": {
        "file": {"type": "string", "format": "binary"},
        **{name: {"type": "string"} for name in DocumentBody.model_fields},
    },
}
_BODIES = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": TextDocumentBody.model_json_schema()},
            "multipart/form-data": {"schema": _FORM},
        },
    }
}


@router.post(
    "",
    summary="Bring a document in",
    status_code=202,
    openapi_extra=_BODIES,
    responses={code: {"model": Problem} for code in (403, 409, 413, 415, 422)},
)
async def bring_in(
    request: Request,
    response: Response,
    caller: Caller,
    services: Services,
    idempotency_key: Annotated[str | None, Header(min_length=1, max_length=200)] = None,
) -> Accepted:
    """A file (multipart, with fields beside it) or a text (JSON). The original is stored and read by a worker; the
    version before stays visible until the new one is complete. The same bytes and fields again are no work."""
    upload = await _upload_of(request)
    services.ingestion.intake.check(caller, upload)
    task_id, document_id = uuid4(), document_id_of(caller, external_id_of(upload))
    task = await services.registry.register_task(
        caller,
        ingest_task(caller, task_id, document_id),
        idempotency_key=idempotency_key,
        request_hash=_hash_of(upload),
        within=lambda tx: services.ingestion.intake.take_in(tx, upload, task_id),
    )
    response.headers["Location"] = f"/api/v1/documents/{task.request['document_id']}"
    return Accepted(document_id=UUID(task.request["document_id"]), task_id=task.task_id)


@router.get("", summary="Documents you may see")
async def listing(
    caller: Caller,
    services: Services,
    department: Annotated[str | None, Query(max_length=64)] = None,
    status: DocumentStatus | None = None,
    cursor: Annotated[str | None, Query(max_length=200)] = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> DocumentPage:
    """Last changed first, a page at a time. Administrators see every document of the company, with its stage."""
    stage = status.value if status else None
    found, further = await services.catalogue.page(
        caller, department=department, status=stage, cursor=cursor, limit=limit
    )
    return DocumentPage(documents=tuple(found), next_cursor=further)


@router.get("/health", summary="Contradictions, duplicates, stale documents", responses={403: {"model": Problem}})
async def health(
    caller: Caller, services: Services, by: Filter, cursor: Cursor = None, limit: Limit = 50
) -> HealthReport:
    """What an administrator should look at, gravest first, each with advice in both languages; or with ``status``, what
    was decided or dismissed. Documents that nobody with these rights has compared yet are compared now, some at a
    time."""
    if cursor is None:
        await services.health.catch_up(caller, limit=_COMPARED_AT_ONCE)
    return await services.health.report(caller, by, limit=limit, cursor=cursor)


@findings.get("", summary="Contradictions between documents", responses={403: {"model": Problem}})
async def contradictions(caller: Caller, services: Services, by: Filter, cursor: Cursor = None) -> HealthReport:
    """The report of ``/documents/health`` for contradictions alone, fifty a page."""
    return await health(caller, services, by.model_copy(update={"kind": "contradiction"}), cursor, 50)


@findings.patch(
    "/{finding_id}",
    summary="Assign, decide, dismiss or reopen a contradiction or duplicate",
    responses={code: {"model": Problem} for code in (403, 404, 409, 422)},
)
async def act_on(finding_id: UUID, body: FindingBody, caller: Caller, services: Services) -> Handling:
    """A person's verdict decides answers, and no later examination overrules it; it lapses when one of the sentences
    changes. Every act stands in the audit."""
    return await services.health.act(caller, finding_id, body.act, Ruling(**body.model_dump(exclude={"act"})))


@router.get("/{document_id}", summary="A document and its stage", responses=_NOT_FOUND)
async def document(document_id: UUID, caller: Caller, services: Services) -> DocumentView:
    """Fields, status of the newest version, counts, and the reason of a failure with advice."""
    return await services.catalogue.find(caller, document_id)


@router.patch("/{document_id}", summary="Change who may read it and when it holds", responses=_NOT_FOUND)
async def amend(document_id: UUID, body: AmendBody, caller: Caller, services: Services) -> DocumentView:
    """Scope, department and dates change on all chunks at once; the next question sees it."""
    changes: Mapping[str, Any] = body.model_dump(mode="python", include=body.model_fields_set)
    for name in ("url", "department", "scope", "authority", "lang", "created_at"):
        if name in changes and changes[name] is None:
            raise AppError(ErrorCode.PAYLOAD_INVALID, f"{name}: must not be null.", status=422)
    return await services.catalogue.amend(caller, document_id, changes)


@router.delete(
    "/{document_id}", summary="Delete a document", status_code=204, response_class=Response, responses=_NOT_FOUND
)
async def delete(document_id: UUID, caller: Caller, services: Services) -> None:
    """Its versions, chunks, vectors and original files are gone with the answer."""
    await services.catalogue.delete(caller, document_id)


@router.get("/{document_id}/versions", summary="Versions and their differences", responses=_NOT_FOUND)
async def versions(
    document_id: UUID, caller: Caller, services: Services, limit: Annotated[int, Query(ge=1, le=50)] = 10
) -> VersionList:
    """Newest first, each with the lines and fields that differ from the version before it."""
    return VersionList(versions=tuple(await services.catalogue.versions(caller, document_id, limit)))


@router.get(
    "/{document_id}/original",
    summary="The file as it came",
    response_class=Response,
    responses={200: {"content": {"application/octet-stream": {}}}, **_NOT_FOUND},
)
async def original(document_id: UUID, caller: Caller, services: Services) -> Response:
    """The bytes of the version that is found; always as a download, never shown by the browser."""
    content, file_name = await services.catalogue.original(caller, document_id)
    disposition = f"attachment; filename*=UTF-8''{quote(file_name or 'document')}"
    headers = {"Content-Disposition": disposition, "Content-Security-Policy": "default-src 'none'; sandbox"}
    return Response(content, media_type="application/octet-stream", headers=headers)


def ingest_task(caller: Principal, task_id: UUID, document_id: UUID) -> NewTask:
    """The task of one arrival. Neither it nor its journal names what is in the document: both outlive its deletion."""
    return NewTask(
        task_id=task_id,
        session_id=uuid5(caller.user_id, "documents"),
        root_task_id=task_id,
        kind="ingest",
        title="document",
        request={"document_id": str(document_id)},
    )


def _hash_of(upload: Upload) -> str:
    content = hashlib.sha256(upload.content or b"").hexdigest()
    return hashlib.sha256(f"{content} {upload.model_dump_json(exclude={'content'})}".encode()).hexdigest()


async def _upload_of(request: Request) -> Upload:
    kind = media_type_of(request)
    try:
        if kind == FORM:
            content, file_name, fields = await read_form(request, _MAX_FIELDS)
            return Upload(fields=DocumentBody.model_validate(fields).fields(), content=content, file_name=file_name)
        if kind == "application/json":
            document = TextDocumentBody.model_validate(_parse(await request.body()))
            return Upload(fields=document.fields(), text=document.text)
    except ValidationError as error:
        raise AppError(ErrorCode.PAYLOAD_INVALID, describe_validation(error.errors()), status=422) from error
    detail = "Send a file as multipart/form-data or a text as application/json."
    raise AppError(ErrorCode.PAYLOAD_INVALID, detail, status=415)


def _parse(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise AppError(ErrorCode.PAYLOAD_INVALID, "The body is not JSON.", status=422) from error
