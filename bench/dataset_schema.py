"""`python -m bench.dataset_schema`: write docs/evaluation.schema.json anew; a test tells when that is due."""

import json
from pathlib import Path

from app.evaluation.question import Question

SCHEMA_PATH = Path(__file__).parents[1] / "docs" / "evaluation.schema.json"


def dataset_schema() -> str:
    """The JSON Schema of one line, short forms included."""
    schema = Question.model_json_schema()
    schema["title"] = "A question of a Conclave evaluation dataset"
    parts = schema["$defs"]
    fact, text = {"$ref": "#/$defs/Fact"}, {"type": "string", "minLength": 1}
    parts["Fact"] = {"anyOf": [text, parts["Fact"]]}
    parts["Alternatives"] = {"anyOf": [fact, {"type": "array", "items": fact, "minItems": 1}, parts["Alternatives"]]}
    parts["Cited"] = {"anyOf": [{"type": "array", "items": text, "minItems": 1}, parts["Cited"]]}
    parts["Disagreement"] = {"anyOf": [{"type": "boolean"}, parts["Disagreement"]]}
    outcomes = parts["Expected"]["properties"]["outcome"]
    outcomes["anyOf"] = [outcomes["items"], {"type": "array", "items": outcomes["items"]}]
    for key in ("items", "type"):
        outcomes.pop(key, None)
    return json.dumps(schema, ensure_ascii=False, indent=2) + "\n"


if __name__ == "__main__":
    SCHEMA_PATH.write_text(dataset_schema(), "utf-8")
