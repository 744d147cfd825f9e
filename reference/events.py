"""The page of events, from the closed union of `app.events`."""

from typing import get_args

from pydantic import BaseModel

from app.events import RESTING_EVENTS, TERMINAL_EVENTS, Event
from reference import docstrings, schema
from reference.markdown import code, paragraphs, table, whole

_LEAD = (
    "A run is told as numbered events. `GET /api/v1/tasks/{task_id}/events` and `POST /api/v1/chat/stream` send them "
    "as server-sent events: `event:` is the type, `id:` the number (1, 2, 3 … without gaps), `data:` the fields below "
    "as JSON. Everything else that is shown of a run (the trace, the other protocols, the figures) is made from them."
)


def page() -> str:
    """Every event with its fields."""
    kinds = [_type_of(one) for one in _union()]
    overview = table(["event", "ends the run"], [[f"[{kind}](#{kind})", _end(kind)] for kind in kinds])
    return whole("Events", _LEAD, [overview, *map(_part, _union())])


def _union() -> list[type[BaseModel]]:
    return list(get_args(get_args(Event)[0]))


def _type_of(event: type[BaseModel]) -> str:
    return str(event.model_fields["type"].default)


def _end(kind: str) -> str:
    if kind in TERMINAL_EVENTS:
        return "yes: exactly one of these ends every run"
    return "no, but nothing follows until a person decides" if kind in RESTING_EVENTS else ""


def _part(event: type[BaseModel]) -> str:
    described = event.model_json_schema(mode="validation")
    described["properties"].pop("type")
    fields = schema.fields(described, docstrings.of_attributes(event))
    return f"## {code(_type_of(event))}\n\n{paragraphs(event.__doc__)}" + (f"\n\n{fields}" if fields else "")
