"""`python -m bench.agent_schema`: write docs/agents.schema.json anew; a test tells when that is due."""

import json
from pathlib import Path

from app.agents.spec import SERVER_TOOL_PATTERN, AgentSpec
from app.tools.catalogue import tool_names

SCHEMA_PATH = Path(__file__).parents[1] / "docs" / "agents.schema.json"


def agent_schema() -> str:
    """The JSON Schema of an agent file, short forms included."""
    schema = AgentSpec.model_json_schema()
    schema["title"] = "Conclave agent"
    properties = schema["properties"]
    text, texts = {"type": "string", "minLength": 1}, {"type": "array", "items": {"type": "string"}, "minItems": 1}
    properties["description"] = {"anyOf": [text, properties["description"]]}
    properties["exemplars"] = {"anyOf": [texts, properties["exemplars"]]}
    server_tool = {"type": "string", "pattern": SERVER_TOOL_PATTERN}
    tool_name = {"anyOf": [{"type": "string", "enum": list(tool_names())}, server_tool]}
    properties["tools"]["items"] = {"anyOf": [tool_name, properties["tools"]["items"]]}
    schema["$defs"]["AgentTool"]["properties"]["name"] = tool_name
    return json.dumps(schema, ensure_ascii=False, indent=2) + "\n"


if __name__ == "__main__":
    SCHEMA_PATH.write_text(agent_schema(), "utf-8")
