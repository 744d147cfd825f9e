"""Who may come in here."""

from typing import Annotated, Any

from fastapi import Depends

from app.api.deps import Caller
from app.api.schemas import Problem
from app.domain.principal import Principal
from app.errors import AppError, ErrorCode

REFUSALS: dict[int | str, dict[str, Any]] = {403: {"model": Problem}}
"""Every route here may answer so."""


def administrator_of(caller: Caller) -> Principal:
    """The caller, who administers the tenant. Raises `AppError` (403), before anything is looked up."""
    if not caller.is_admin:
        detail = "Only administrators of the company may do this: ask with a token that carries the role admin."
        raise AppError(ErrorCode.PERMISSION_DENIED, detail, status=403)
    return caller


Administrator = Annotated[Principal, Depends(administrator_of)]
