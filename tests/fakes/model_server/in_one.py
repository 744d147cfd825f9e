"""The steps of an answer in one body, whole or faulty."""

from collections.abc import Callable, Iterable
from itertools import chain

from tests.fakes.model_server.asked import Asked, Json
from tests.fakes.model_server.faults import Fault
from tests.fakes.model_server.refusing import error_body
from tests.fakes.model_server.reply import Reply
from tests.fakes.model_server.speech import body, choice, written
from tests.fakes.model_server.steps import BAD_BYTES, BREAKS, Close, Forever, Send, Step, Wait, chunked, head, whole

FLOOD_TEXT = "And so on, and on. " * 200


def in_one(asked: Asked, reply: Reply) -> list[Step]:
    """`reply` as one body."""
    completion = body(asked, reply)
    if reply.fault in _OTHER_COMPLETIONS:
        completion = _OTHER_COMPLETIONS[reply.fault](completion, reply)
    data = written(completion)
    if reply.fault in _OTHER_BYTES:
        data = _OTHER_BYTES[reply.fault](data)
    kind = "text/plain" if reply.fault is Fault.WRONG_CONTENT_TYPE else "application/json"
    headers = {"content-type": kind, **reply.headers}
    match reply.fault:
        case Fault.DRIP:
            return _dripping(headers, data, reply.pause)
        case Fault.FLOOD:
            return _flooding(headers, asked)
        case Fault.CUT_UNFRAMED:
            return [head(200, {**headers, "connection": "close"}), Send(_half(data)), Close()]
    if reply.fault in BREAKS:
        length = {"content-length": str(len(data))}
        return [head(200, {**headers, **length}), Send(_half(data)), *BREAKS[reply.fault]]
    return whole(200, headers, data)


def _half(data: bytes) -> bytes:
    return data[: len(data) // 2]


def _dripping(headers: dict[str, str], data: bytes, pause: float) -> list[Step]:
    drops: Iterable[Step] = chain.from_iterable((Wait(pause), Send(bytes([byte]))) for byte in data)
    return [head(200, {**headers, "content-length": str(len(data))}), *drops]


def _flooding(headers: dict[str, str], asked: Asked) -> list[Step]:
    opened = written(body(asked, Reply("?"))).split(b"?")[0]
    flood: list[Step] = [Send(opened), Forever(FLOOD_TEXT.encode())]
    return [head(200, {**headers, "transfer-encoding": "chunked"}), *map(chunked, flood)]


_OTHER_COMPLETIONS: dict[Fault, Callable[[Json, Reply], Json]] = {
    Fault.NO_CHOICES: lambda completion, reply: {**completion, "choices": []},
    Fault.ROLE_ONLY: lambda completion, reply: {
        **completion,
        "choices": [{"index": 0, "message": {"role": "assistant"}, "finish_reason": reply.finish_reason}],
    },
    Fault.TWO_CHOICES: lambda completion, reply: {
        **completion,
        "choices": [choice(reply), choice(Reply("SECOND CHOICE"), 1)],
    },
}

_OTHER_BYTES: dict[Fault, Callable[[bytes], bytes]] = {
    Fault.TRUNCATED_JSON: lambda data: _half(data).decode("utf-8", "ignore").encode(),
    Fault.INVALID_UTF8: lambda data: data.replace(b'"content": "', b'"content": "' + BAD_BYTES),
    Fault.ERROR_AT_ONCE: lambda data: error_body("the model fell over"),
    Fault.ERROR_MIDWAY: lambda data: error_body("the model fell over"),
}
