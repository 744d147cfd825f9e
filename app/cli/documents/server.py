"""Documents through a server's API."""

from collections.abc import AsyncIterator, Mapping
from functools import partial
from typing import Any
from uuid import UUID, uuid4

from app.cli.documents.operator import id_of
from app.client.connection import Connection
from app.client.uploads import file_form, progress_of
from app.domain.documents import DocumentStatus, DocumentView, Upload
from app.domain.health import HealthReport
from app.domain.principal import Principal
from app.errors import AppError, ErrorCode
from app.ingestion.stages import Published, Tell

_PAGE = 100
_AT_ONCE = 4


class ServerLibrary:
    """A `Library` behind a server."""

    at_once = _AT_ONCE
    max_upload_bytes: int | None = None

    def __init__(self, remote: Connection, operator: Principal):
        """`operator` only names the tenant; what the token allows counts."""
        self._remote, self._operator = remote, operator

    async def departments(self) -> frozenset[str]:
        """See `app.cli.documents.library.Library`."""
        return frozenset((await self._remote.send("GET", "/agents"))["departments"])

    async def known(self, prefix: str) -> dict[str, UUID]:
        """See `app.cli.documents.library.Library`."""
        found = [view async for view in self.listing(None, None)]
        return {view.external_id: view.document_id for view in found if view.external_id.startswith(prefix)}

    async def bring_in(self, upload: Upload, tell: Tell) -> Published:
        """See `app.cli.documents.library.Library`; a lost connection is taken up again."""
        key = str(uuid4())
        if upload.content is None:
            body = {**_said(upload), "text": upload.text}
            accepted = await self._remote.send("POST", "/documents", body=body, idempotency_key=key)
        else:
            form = partial(file_form, upload.content, upload.file_name, _said(upload))
            accepted = await self._remote.send("POST", "/documents", form=form, idempotency_key=key)
        async for _, kind, event in self._remote.follow(str(accepted["task_id"])):
            if kind == "progress":
                await tell(progress_of(event["output"]))
            elif (published := ending(accepted["document_id"], kind, event)) is not None:
                return published
        raise AppError(ErrorCode.INTERNAL, "The server's account of the document broke off.", status=500)

    async def listing(self, department: str | None, status: DocumentStatus | None) -> AsyncIterator[DocumentView]:
        """See `app.cli.documents.library.Library`."""
        params = {"limit": str(_PAGE)}
        if department:
            params["department"] = department
        if status:
            params["status"] = status.value
        while True:
            page = await self._remote.send("GET", "/documents", params=params)
            for view in page["documents"]:
                yield DocumentView.model_validate(view)
            if page["next_cursor"] is None:
                return
            params["cursor"] = page["next_cursor"]

    async def find(self, name: str) -> DocumentView:
        """See `app.cli.documents.library.Library`."""
        path = f"/documents/{id_of(self._operator, name)}"
        return DocumentView.model_validate(await self._remote.send("GET", path))

    async def delete(self, document_id: UUID) -> None:
        """See `app.cli.documents.library.Library`."""
        await self._remote.send("DELETE", f"/documents/{document_id}")

    async def health(self, limit: int, cursor: str | None) -> HealthReport:
        """See `app.cli.documents.library.Library`."""
        params = {"limit": str(limit), **({"cursor": cursor} if cursor else {})}
        return HealthReport.model_validate(await self._remote.send("GET", "/documents/health", params=params))


def _said(upload: Upload) -> dict[str, Any]:
    return upload.fields.model_dump(mode="json", exclude_none=True)


def ending(document_id: str, kind: str, event: Mapping[str, Any]) -> Published | None:
    """How a terminal event says that the document ended; None for any other event."""
    match kind:
        case "final_report" | "task_failed":
            answer = {name: value for name, value in event["answer"].items() if name in Published.model_fields}
            if "status" in answer:
                return Published.model_validate(answer)
            code, detail = event["answer"].get("error_code", ""), event["answer"].get("error_message", "")
        case "task_cancelled":
            code, detail = ErrorCode.TASK_CANCELLED.value, str(event["reason"])
        case _:
            return None
    return Published(
        document_id=UUID(document_id), version=None, status=DocumentStatus.FAILED, code=code, detail=detail
    )
