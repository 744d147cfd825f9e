"""The steps of a streamed answer, whole or faulty."""

from collections.abc import Callable, Iterable
from itertools import chain

from tests.fakes.model_server.asked import Asked
from tests.fakes.model_server.faults import Fault
from tests.fakes.model_server.in_one import FLOOD_TEXT
from tests.fakes.model_server.refusing import error_body
from tests.fakes.model_server.reply import Reply
from tests.fakes.model_server.speech import Speech, delta_event, event, speech
from tests.fakes.model_server.steps import (
    BAD_BYTES,
    BREAKS,
    LAST_CHUNK,
    Close,
    Forever,
    Send,
    Step,
    Wait,
    chunked,
    head,
)

_GARBAGE = b'nonsense\nfoo: bar\nretry: never\n: comment\n\nevent: \n\n:\n\nid: \n\ndatum\n: {"half"\n\n'
_COMMENT = b": still here\n\n"


def streamed(asked: Asked, reply: Reply) -> list[Step]:
    """`reply` as a stream of events."""
    steps = _events(asked, reply)
    if reply.wire_bytes:
        steps = _recut(steps, reply.wire_bytes)
    kind = "text/plain" if reply.fault is Fault.WRONG_CONTENT_TYPE else "text/event-stream; charset=utf-8"
    headers = {"content-type": kind, "cache-control": "no-store", **reply.headers}
    if reply.fault is Fault.CUT_UNFRAMED:
        return [head(200, {**headers, "connection": "close"}), *steps, Close()]
    framed = [head(200, {**headers, "transfer-encoding": "chunked"}), *map(chunked, steps)]
    return framed if reply.fault in BREAKS else [*framed, Send(LAST_CHUNK)]


def _events(asked: Asked, reply: Reply) -> list[Step]:
    said = speech(asked, reply)
    if reply.fault in BREAKS:
        return [*_paced([*said.opening, *said.half], reply), *BREAKS[reply.fault]]
    if reply.fault in _EVENT_FAULTS:
        return [
            Send(data) if isinstance(data, bytes) else data for data in _EVENT_FAULTS[reply.fault](asked, said, reply)
        ]
    return _paced(said.events, reply)


def _paced(events: list[bytes], reply: Reply) -> list[Step]:
    """The events with the reply's own pauses between them."""
    between = reply.pause if reply.fault is Fault.DRIP else reply.between_seconds
    steps: list[Step] = []
    for number, data in enumerate(events):
        pause = 0.0 if number == 0 else reply.first_token_seconds if number == 1 else between
        steps += [Wait(pause), Send(data)] if pause else [Send(data)]
    return steps


def _recut(steps: list[Step], size: int) -> list[Step]:
    """The bytes of neighbouring sends, cut anew every `size`."""
    recut: list[Step] = []
    held = b""
    for step in [*steps, Wait(0.0)]:
        if isinstance(step, Send):
            held += step.data
            continue
        recut += [Send(held[start : start + size]) for start in range(0, len(held), size)]
        recut.append(step)
        held = b""
    return recut


def _interleaved(events: Iterable[bytes], between: bytes) -> list[bytes]:
    return list(chain.from_iterable((data, between) for data in events))


def _second_choice(asked: Asked, said: Speech) -> list[bytes]:
    other = delta_event(asked, {"content": "SECOND CHOICE "}, index=1)
    return [*said.opening, *_interleaved(said.deltas, other), delta_event(asked, {}, "stop", 1), *said.ending]


def _no_choices(asked: Asked, said: Speech) -> list[bytes]:
    empty = {"id": "chatcmpl-scripted", "object": "chat.completion.chunk", "created": 0, "model": "", "choices": []}
    return [*(event(empty) for _ in said.deltas), *said.usage, *said.done]


def _badly_encoded(asked: Asked, said: Speech) -> list[bytes]:
    bad = delta_event(asked, {"content": "?"}).replace(b"?", BAD_BYTES)
    return [*said.opening, *said.half, bad, *said.deltas[len(said.half) :], *said.ending]


def _flooding(asked: Asked, said: Speech) -> list[bytes | Step]:
    return [*said.opening, *said.deltas, Forever(delta_event(asked, {"content": FLOOD_TEXT}))]


def _endless_line(asked: Asked, said: Speech) -> list[bytes | Step]:
    opened = delta_event(asked, {"content": "?"}).split(b"?")[0]
    return [*said.opening, opened, Forever(b"x" * 65_536)]


_IN_BAND_ERROR = b"data: " + error_body("the model fell over") + b"\n\n"
_EVENT_FAULTS: dict[Fault, Callable[[Asked, Speech, Reply], Iterable[bytes | Step]]] = {
    Fault.COMMENTS_ONLY: lambda asked, said, reply: [*said.opening, Forever(_COMMENT, reply.pause)],
    Fault.CUT_UNFRAMED: lambda asked, said, reply: [*said.opening, *said.half],
    Fault.END_WITHOUT_FINISH: lambda asked, said, reply: [*said.opening, *said.deltas],
    Fault.CUT_WITHOUT_FINISH: lambda asked, said, reply: [*said.opening, *said.deltas],
    Fault.DONE_WITHOUT_FINISH: lambda asked, said, reply: [*said.opening, *said.deltas, *said.done],
    Fault.NO_DONE: lambda asked, said, reply: [*said.opening, *said.deltas, *said.finish, *said.usage],
    Fault.ERROR_AT_ONCE: lambda asked, said, reply: [_IN_BAND_ERROR, *said.done],
    Fault.ERROR_MIDWAY: lambda asked, said, reply: [*said.opening, *said.half, _IN_BAND_ERROR, *said.done],
    Fault.SSE_GARBAGE: lambda asked, said, reply: _interleaved(said.events, _GARBAGE),
    Fault.SSE_CRLF: lambda asked, said, reply: [
        data.replace(b"\n", b"\r\n") for data in _interleaved(said.events, _COMMENT)
    ],
    Fault.TRUNCATED_JSON: lambda asked, said, reply: [
        *said.opening,
        *said.half,
        delta_event(asked, {"content": "?"}).split(b"?")[0] + b"\n\n",
        *said.ending,
    ],
    Fault.INVALID_UTF8: lambda asked, said, reply: _badly_encoded(asked, said),
    Fault.ROLE_ONLY: lambda asked, said, reply: [*said.opening, *(said.opening[0] for _ in said.deltas), *said.ending],
    Fault.NO_CHOICES: lambda asked, said, reply: _no_choices(asked, said),
    Fault.TWO_CHOICES: lambda asked, said, reply: _second_choice(asked, said),
    Fault.TEXT_AFTER_FINISH: lambda asked, said, reply: [
        *said.opening,
        *said.deltas,
        *said.finish,
        delta_event(asked, {"content": " AFTER THE END"}),
        *said.usage,
        *said.done,
    ],
    Fault.FLOOD: lambda asked, said, reply: _flooding(asked, said),
    Fault.ENDLESS_LINE: lambda asked, said, reply: _endless_line(asked, said),
}
