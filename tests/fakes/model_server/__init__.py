"""An OpenAI-compatible model server that says what a test tells it to, and breaks in every way the wire allows."""

from tests.fakes.model_server.asked import Asked, count_tokens
from tests.fakes.model_server.faults import BENIGN_FAULTS, JSON_FAULTS, STREAM_FAULTS, Fault
from tests.fakes.model_server.obedient import obedient, unbound_obedient
from tests.fakes.model_server.plain import plain
from tests.fakes.model_server.reply import Reply, ToolCall
from tests.fakes.model_server.server import (
    ClosedEarly,
    Mind,
    ModelServer,
    OpenCall,
    nobody_listening,
    scripted_model_server,
)

__all__ = [
    "BENIGN_FAULTS",
    "JSON_FAULTS",
    "STREAM_FAULTS",
    "Asked",
    "ClosedEarly",
    "Fault",
    "Mind",
    "ModelServer",
    "OpenCall",
    "Reply",
    "ToolCall",
    "count_tokens",
    "nobody_listening",
    "obedient",
    "plain",
    "scripted_model_server",
    "unbound_obedient",
]
