"""Read a file that is sent as a form."""

from fastapi import Request
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from app.errors import AppError, ErrorCode

FORM = "multipart/form-data"


def media_type_of(request: Request) -> str:
    """What kind of body was sent, without its parameters."""
    return request.headers.get("content-type", "").split(";")[0].strip().lower()


async def read_form(request: Request, max_fields: int) -> tuple[bytes, str, dict[str, UploadFile | str]]:
    """Content and name of the form's one file, and the fields beside it that are not empty.

    Raises `AppError` for a form that breaks off, cannot be read or holds no file.
    """
    try:
        form = await request.form(max_files=1, max_fields=max_fields)
    except ClientDisconnect as error:
        raise AppError(ErrorCode.PAYLOAD_INVALID, "The form did not arrive whole.", status=400) from error
    except HTTPException as error:
        raise AppError(ErrorCode.PAYLOAD_INVALID, f"The form cannot be read: {error.detail}", status=422) from error
    try:
        file = form.get("file")
        if not isinstance(file, UploadFile):
            raise AppError(ErrorCode.PAYLOAD_INVALID, "file: the form holds no file.", status=422)
        fields = {name: value for name, value in form.multi_items() if name != "file" and value != ""}
        return await file.read(), file.filename or "", fields
    finally:
        await form.close()
