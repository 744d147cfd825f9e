"""Files attached to questions: uploading, looking, removing. Each belongs to its uploader alone."""

from datetime import datetime
from typing import Any
from uuid import UUID

from fastapi import APIRouter, Request
from starlette.responses import Response

from app.api.deps import Caller, Services
from app.api.schemas import Problem, View
from app.api.uploads import FORM, media_type_of, read_form
from app.domain.attachments import Attachment
from app.domain.documents import ParseNote
from app.errors import AppError, ErrorCode

router = APIRouter(prefix="/files", tags=["files"])
_MAX_FIELDS = 4
_NOT_FOUND: dict[int | str, dict[str, Any]] = {404: {"model": Problem}}
_FORM = {"type": "object", "required": ["file"], "properties": {"file": {"type": "string", "format": "binary"}}}
_BODY = {"requestBody": {"required": True, "content": {"multipart/form-data": {"schema": _FORM}}}}


class FileView(View):
    """An attached file. Name it in ``files`` of a question."""

    file_id: UUID
    name: str
    kind: str
    """``pdf docx pptx xlsx csv html markdown text eml image zip``: what the content is, whatever the name says."""
    bytes: int
    pages: int | None
    """Pages, slides or sheets; null for formats without any."""
    tables: int
    """Tables that can be computed with."""
    warnings: tuple[ParseNote, ...]
    created_at: datetime
    expires_at: datetime
    """It is gone then."""


class FileList(View):
    """The caller's files, newest first."""

    files: tuple[FileView, ...]


@router.post(
    "",
    summary="Attach a file",
    status_code=201,
    openapi_extra=_BODY,
    responses={code: {"model": Problem} for code in (413, 422, 429)},
)
async def attach(request: Request, response: Response, caller: Caller, services: Services) -> FileView:
    """A form with one file. It is read now; what it says is kept for some days, its bytes are not. The same file again
    is the same file, for some days more."""
    if media_type_of(request) != FORM:
        raise AppError(ErrorCode.PAYLOAD_INVALID, "Send a file as multipart/form-data.", status=415)
    content, name, _ = await read_form(request, _MAX_FIELDS)
    attachment = await services.attachments.bring_in(caller, content, name)
    response.headers["Location"] = f"/api/v1/files/{attachment.file_id}"
    return _view(attachment)


@router.get("", summary="Your attached files")
async def listing(caller: Caller, services: Services) -> FileList:
    """Newest first; expired ones are not among them."""
    return FileList(files=tuple(_view(one) for one in await services.attachments.listing(caller)))


@router.get("/{file_id}", summary="An attached file", responses=_NOT_FOUND)
async def file(file_id: UUID, caller: Caller, services: Services) -> FileView:
    """What is known of it; its content is only answered from."""
    return _view(await services.attachments.find(caller, file_id))


@router.delete(
    "/{file_id}", summary="Remove an attached file", status_code=204, response_class=Response, responses=_NOT_FOUND
)
async def remove(file_id: UUID, caller: Caller, services: Services) -> None:
    """All that was read of it is gone with the answer."""
    await services.attachments.delete(caller, file_id)


def _view(attachment: Attachment) -> FileView:
    told = attachment.model_dump(exclude={"byte_count", "warnings"})
    return FileView(**told, bytes=attachment.byte_count, warnings=attachment.warnings)
