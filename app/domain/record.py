"""The base of every frozen record: immutable, and strict about unknown fields."""

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """An immutable value; unknown fields are refused so that a spelling mistake is never silently dropped."""

    model_config = ConfigDict(frozen=True, extra="forbid")
