"""The base of every frozen record: immutable, and strict about unknown fields; and a time it may hold."""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Moment = Annotated[datetime, Field(ge=datetime(2, 1, 1, tzinfo=UTC), lt=datetime(9999, 1, 1, tzinfo=UTC))]
"""Years 1 and 9999 cannot be told in every zone."""


class Record(BaseModel):
    """An immutable value; unknown fields are refused so that a spelling mistake is never silently dropped."""

    model_config = ConfigDict(frozen=True, extra="forbid")
