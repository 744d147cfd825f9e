"""Make the OpenAPI document say of refusals what is sent.

Routes name the refusals that are their own. What every route may answer is added here, and all of them get the media
type and the shape in which they arrive.
"""

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI
from pydantic import TypeAdapter

from app.api.middleware import API_ROOT
from app.api.problem import MEDIA_TYPE
from app.api.schemas import Problem
from app.events import Event, Progress

_OF_ALL = {"431": "The head of the request is too large"}
_OF_CLOSED = {"401": "Not signed in", "403": "Not allowed", "503": "Too busy, or the database cannot be reached"}
_OF_BODIES = {
    "404": "What it names is not there, or not for the caller",
    "413": "Too large",
    "415": "No format that is read",
    "422": "Not well formed",
    "429": "Too many requests",
}
_OF_IDS = {"404": "Not there, or not for the caller"}
_REFERENCE = "#/components/schemas/{model}"
_EVENT = {"contentMediaType": "application/json", "contentSchema": {"$ref": _REFERENCE.format(model="Event")}}
_FRAME = {"id": {"type": "string"}, "event": {"type": "string"}, "data": {"type": "string"} | _EVENT}
"""An event of a stream."""
_FRAMEWORKS = ("HTTPValidationError", "ValidationError")
"""Schemas of refusals in the framework's own form, which nobody gets."""


def describe_refusals(app: FastAPI) -> None:
    """Change what ``/openapi.json`` says; the document is made when somebody first asks for it, and kept."""
    made = app.openapi

    def described() -> dict[str, Any]:
        if app.openapi_schema is not None:
            return app.openapi_schema
        document = made()
        document["servers"] = [{"url": "/"}]
        schemas = document["components"]["schemas"]
        events = TypeAdapter(Event).json_schema(ref_template=_REFERENCE)
        for name, one in events["$defs"].items():  # the seed's progress is known by its event's name, and has no type
            schemas[name] = one | {"required": ["type"] * (name != Progress.__name__) + one.get("required", [])}
        schemas |= {"Event": {"anyOf": events["oneOf"]}, "Problem": Problem.model_json_schema()}
        for name in _FRAMEWORKS:
            schemas.pop(name, None)
        for path, methods in document["paths"].items():
            for operation in methods.values():
                _describe(path, operation)
        return document

    vars(app)["openapi"] = described


def _describe(path: str, operation: dict[str, Any]) -> None:
    further = _OF_ALL | (_OF_CLOSED if operation.setdefault("security", []) else {})
    further = further | (_OF_BODIES if "requestBody" in operation else {}) | (_OF_IDS if "{" in path else {})
    responses = {status: {"description": said} for status, said in further.items()} | operation["responses"]
    for response in (told for status, told in responses.items() if status >= "400" and _is_general(told)):
        response.pop("content", None)
        if path.startswith(f"{API_ROOT}/"):  # a face says it in its protocol's words
            response["content"] = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    stream = responses.get("200", {}).get("content", {}).get("text/event-stream")
    if stream is not None and path.startswith(f"{API_ROOT}/"):
        stream["schema"] = {"type": "object", "properties": _FRAME}
    operation["responses"] = dict(sorted(responses.items()))


def _is_general(response: Mapping[str, Any]) -> bool:
    """Whether a refusal has no form of its own."""
    schemas = [told.get("schema", {}).get("$ref", "") for told in response.get("content", {}).values()]
    return all(one.rpartition("/")[2] in ("Problem", *_FRAMEWORKS) for one in schemas)
