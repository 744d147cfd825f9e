"""The page of agent files, from the record they are read into."""

from app.agents import spec
from app.agents.spec import AgentSpec
from reference import docstrings, schema
from reference.markdown import paragraphs, whole

_LEAD = (
    "An agent is one YAML file: a department, or a pool that computes for everybody. The folder that "
    "`CONCLAVE_AGENTS_DIR` names is read at the start; unknown keys and keys that stand twice are refused "
    "with their line. `docs/agents.schema.json` is the same as JSON schema, for editors. "
    "Step by step: [add a department](../how-to/department.md)."
)


def page() -> str:
    """Every key of an agent file."""
    described = AgentSpec.model_json_schema()
    parts = [f"## An agent\n\n{schema.fields(described, docstrings.of_attributes(AgentSpec), _link)}"]
    for name, one in described["$defs"].items():
        if one.get("properties"):
            parts.append(f"## {name}\n\n{paragraphs(one.get('description'))}\n\n{_fields(name, one)}")
    return whole("Agent files", _LEAD, parts)


def _fields(name: str, described: schema.Schema) -> str:
    return schema.fields(described, docstrings.of_attributes(getattr(spec, name)), _link)


def _link(name: str) -> str:
    return f"[{name}](#{name.lower()})"
