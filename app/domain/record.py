"""The base of every frozen record: immutable, and strict about unknown fields; and a time it may hold."""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Moment = Annotated[datetime, Field(ge=datetime(2, 1, 1, tzinfo=UTC), lt=datetime(9999, 1, 1, tzinfo=UTC))]
"""Years 1 and 9999 cannot be told in every zone."""


Address = Annotated[
    str,
    Field(max_length=2000, pattern=r"""^((?i:https?)://[^\s\\<>"'/?#][^\s\\<>"']*|/([^\s\\<>"'/][^\s\\<>"']*)?)?$"""),
]
"""Of a page with http or https, or a path of this service: what a link of an answer may open. May be empty."""


class Record(BaseModel):
    """An immutable value; unknown fields are refused so that a spelling mistake is never silently dropped."""

    model_config = ConfigDict(frozen=True, extra="forbid")
