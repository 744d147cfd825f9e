"""The page of settings, from `app.settings.Settings` and the strings below its fields."""

import json
from collections.abc import Set
from pathlib import Path
from typing import Any

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from app.domain.record import Record
from app.settings import Settings
from reference import docstrings, schema
from reference.markdown import code, prose, table, whole

_TITLES = {
    "data_dir": "Places and agents",
    "database_url": "Database",
    "bus_url": "Bus and workers",
    "llm_base_url": "Language model",
    "mcp_servers": "Tools and attached files",
    "embedding_base_url": "Embedding",
    "auth_jwt_secret": "Who asks",
    "max_concurrent_agents": "The flow",
    "task_deadline_ms": "Time and budgets of a question",
    "spool_max_bytes": "The spool",
    "max_body_bytes": "What comes in, and the rest",
}
"""First setting of a group → what the group is about."""
_LEAD = (
    "Every setting is an environment variable with the prefix `CONCLAVE_`, or a line of `.env`; there is no other "
    "configuration file. Units are in the names. `conclave doctor` prints what holds, secrets hidden. Lists, sets and "
    "objects are written as JSON."
)


def page() -> str:
    """Every setting with its type, default and meaning, in the groups of the source."""
    return whole("Settings", _LEAD, [_group(names) for names in docstrings.groups(Settings)])


def _group(names: list[str]) -> str:
    rows = [_row(name, Settings.model_fields[name]) for name in names]
    title = _TITLES.get(names[0], names[0].replace("_", " ").capitalize())
    return f"## {title}\n\n" + table(["variable", "type", "default", "meaning"], rows)


def _row(name: str, field: FieldInfo) -> list[str]:
    described = Settings.model_json_schema()["properties"][name]
    bounds = schema.limits(described)
    kind = _kind(field, described) + (f", {bounds}" if bounds else "")
    meaning = prose(docstrings.of_attributes(Settings).get(name))
    return [code(f"CONCLAVE_{name.upper()}"), kind, _default(field.get_default()), meaning]


def _kind(field: FieldInfo, described: dict[str, Any]) -> str:
    if isinstance(field.default, SecretStr):
        return "secret"
    named = {"path": "path", "integer": "whole number", "number": "number", "boolean": "`true` `false`"}
    text = schema.kind(described, lambda _: "object").replace(" or null", "")
    return named.get(text, text)


def _default(value: object) -> str:
    match value:
        case None:
            return "none"
        case SecretStr() | "":
            return "empty"
        case bool():
            return code(str(value).lower())
        case Record():
            return code(value.model_dump_json())
        case Set():
            return code(json.dumps(sorted(value)))
        case dict():
            return code(json.dumps(value))
        case Path():
            return code(value.as_posix())
        case _:
            return code(value)
