"""The steps of every answer, whole or faulty."""

from tests.fakes.model_server.asked import Asked
from tests.fakes.model_server.faults import JSON_FAULTS, STREAM_FAULTS, Fault
from tests.fakes.model_server.in_one import in_one
from tests.fakes.model_server.refusing import REJECTED, refused
from tests.fakes.model_server.reply import Reply
from tests.fakes.model_server.spoiling import spoiled
from tests.fakes.model_server.steps import Close, Step, Wait, head, whole
from tests.fakes.model_server.streaming import streamed

_PAGE = b"<!doctype html><title>Sign in</title><p>Please sign in to this network."

_SILENT: dict[Fault, list[Step]] = {
    Fault.RESET_BEFORE_HEADERS: [Close(reset=True)],
    Fault.CONNECTION_REFUSED: [Close(reset=True)],
    Fault.HANG_BEFORE_HEADERS: [Wait()],
    Fault.HANG_AFTER_HEADERS: [
        head(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked"}),
        Wait(),
    ],
}


def touches(fault: Fault, asked: Asked) -> bool:
    """Whether `fault` changes the answer to this call at all."""
    if fault in REJECTED:
        return REJECTED[fault](asked)
    return (asked.stream or fault not in STREAM_FAULTS) and (asked.wants_json or fault not in JSON_FAULTS)


def script(asked: Asked, reply: Reply) -> list[Step]:
    """What the server does to answer `asked` with `reply`."""
    waiting: list[Step] = [Wait(reply.wait_seconds)] if reply.wait_seconds else []
    if refusal := refused(asked, reply):
        return [*waiting, *whole(refusal.status, refusal.headers, refusal.body)]
    if reply.fault in _SILENT:
        return [*waiting, *_SILENT[reply.fault]]
    if reply.fault is Fault.HTML_PAGE:
        return [*waiting, *whole(200, {"content-type": "text/html"}, _PAGE)]
    reply = spoiled(reply.within(asked.max_tokens))
    said = streamed if asked.stream and reply.fault is not Fault.NOT_A_STREAM else in_one
    return [*waiting, *said(asked, reply)]
