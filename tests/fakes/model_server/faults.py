"""The ways a model endpoint fails, as one closed list."""

from enum import StrEnum, auto


class Fault(StrEnum):
    """What goes wrong with a call. Half means half of the reply's deltas, or of the body's bytes."""

    # -- it refuses
    RATE_LIMITED = auto()
    """429 with ``Retry-After`` in seconds (1 unless told)."""
    RATE_LIMITED_UNTIL_DATE = auto()
    """429 with ``Retry-After`` as an HTTP date (2 seconds ahead unless told)."""
    RATE_LIMITED_FOR_A_DAY = auto()
    RATE_LIMITED_GARBAGE = auto()
    """429 whose ``Retry-After`` is neither number nor date."""
    RATE_LIMITED_UNSAID = auto()
    """429 without ``Retry-After``."""
    QUOTA_EXHAUSTED = auto()
    """429 with code ``insufficient_quota``: no wait will help."""
    SERVER_ERROR = auto()
    BAD_GATEWAY = auto()
    """502 with an HTML body."""
    OVERLOADED = auto()
    """503, with ``Retry-After`` if told."""
    UNAUTHORIZED = auto()
    MODEL_UNKNOWN = auto()
    CONTEXT_TOO_LONG = auto()
    """400 with code ``context_length_exceeded``."""
    REJECTS_JSON_SCHEMA = auto()
    """400 for calls with ``response_format: json_schema``; other calls are answered."""
    REJECTS_JSON_OBJECT = auto()
    """400 for calls with ``response_format: json_object``; other calls are answered."""
    REJECTS_STREAM_OPTIONS = auto()
    """400 for calls with ``stream_options``; other calls are answered."""
    REDIRECTED = auto()
    """307 to another path of this server, which records what it was handed and answers 418."""

    # -- the connection
    CONNECTION_REFUSED = auto()
    """Nobody listens any more, until the server is mended."""
    RESET_BEFORE_HEADERS = auto()
    RESET_MIDWAY = auto()
    CLOSED_MIDWAY = auto()
    """The connection ends without the end that its framing promised."""
    CUT_UNFRAMED = auto()
    """An answer without length or chunks, whose early end looks like its end; a stream is cut at an event."""
    HANG_BEFORE_HEADERS = auto()
    HANG_AFTER_HEADERS = auto()
    STALL_MIDWAY = auto()
    DRIP = auto()
    """A stream pauses between deltas, a body between bytes (0.05 seconds unless told)."""
    COMMENTS_ONLY = auto()
    """A stream of comments without end (one in 0.05 seconds unless told): bytes flow, nothing is said."""

    # -- the stream
    END_WITHOUT_FINISH = auto()
    """All the text, then a proper end of the body: neither finish reason nor ``[DONE]``."""
    CUT_WITHOUT_FINISH = auto()
    """Half the text, then a proper end of the body."""
    DONE_WITHOUT_FINISH = auto()
    """Half the text, then ``[DONE]``, never a finish reason."""
    NO_DONE = auto()
    """Finish reason, then the end without ``[DONE]``."""
    ERROR_AT_ONCE = auto()
    """200, and the first thing said is ``{"error": …}``."""
    ERROR_MIDWAY = auto()
    """Half the text, then ``{"error": …}`` in the stream."""
    SSE_GARBAGE = auto()
    """Between deltas: unknown fields, a line without a colon, comments, an empty event, a bad ``retry``."""
    SSE_CRLF = auto()
    """Lines end in CR LF, and comments stand between events."""
    NOT_A_STREAM = auto()
    """A stream was asked for, one JSON body comes."""
    TRUNCATED_JSON = auto()
    """A body, or an event of the stream, is half a JSON value; the framing is whole."""
    INVALID_UTF8 = auto()
    WRONG_CONTENT_TYPE = auto()
    """The right answer, labelled ``text/plain``."""
    HTML_PAGE = auto()
    """200 with a web page."""
    ROLE_ONLY = auto()
    """Deltas with a role and no text, then ``stop``."""
    NULL_CONTENT = auto()
    NO_CHOICES = auto()
    """``choices`` is empty, in a body as in every event."""
    TWO_CHOICES = auto()
    """A second choice with other words beside the first."""
    TEXT_AFTER_FINISH = auto()
    WRONG_USAGE = auto()
    """Negative counts and words for numbers."""

    # -- too much
    FLOOD = auto()
    """Text without end."""
    ENDLESS_LINE = auto()
    """One event whose line never ends."""
    HUGE_DELTA = auto()
    """Eight million characters in one delta."""

    # -- the outcome
    LENGTH = auto()
    """Half the text, finish reason ``length``."""
    CONTENT_FILTER = auto()
    """Half the text, finish reason ``content_filter``."""
    REFUSAL = auto()
    """The ``refusal`` field instead of content."""
    EMPTY = auto()
    BLANK = auto()
    """White space only."""
    UNKNOWN_FINISH_REASON = auto()
    UNKNOWN_TOOL = auto()
    """A call of a tool that nobody offered."""
    MANY_TOOL_CALLS = auto()
    """Ten thousand of them."""

    # -- the JSON
    BROKEN_JSON = auto()
    FENCED_JSON = auto()
    PROSE_AROUND_JSON = auto()
    DUPLICATE_KEYS = auto()
    NOT_A_NUMBER = auto()
    INFINITE = auto()
    OVERFLOWING = auto()
    """``1e999``: right JSON that reads as infinity."""
    HUGE_INTEGER = auto()
    """Five thousand digits."""
    MISSING_FIELD = auto()
    WRONG_TYPE = auto()
    EXTRA_FIELDS = auto()
    """Fields that would decide for the service: ``flow_action``, ``error_code``, ``agent``, ``priority``."""
    DEEP_JSON = auto()
    """A hundred thousand brackets."""
    LONE_SURROGATE = auto()
    """Half a character at the end of every string of the JSON, or of the text."""
    NUL_CHARACTERS = auto()
    """NUL at the end of every string of the JSON, or of the text."""


JSON_FAULTS = frozenset(
    {
        Fault.BROKEN_JSON,
        Fault.FENCED_JSON,
        Fault.PROSE_AROUND_JSON,
        Fault.DUPLICATE_KEYS,
        Fault.NOT_A_NUMBER,
        Fault.INFINITE,
        Fault.OVERFLOWING,
        Fault.HUGE_INTEGER,
        Fault.MISSING_FIELD,
        Fault.WRONG_TYPE,
        Fault.EXTRA_FIELDS,
        Fault.DEEP_JSON,
    }
)
"""Faults that leave an answer alone unless it is a JSON object."""

STREAM_FAULTS = frozenset(
    {
        Fault.REJECTS_STREAM_OPTIONS,
        Fault.COMMENTS_ONLY,
        Fault.DONE_WITHOUT_FINISH,
        Fault.NO_DONE,
        Fault.SSE_GARBAGE,
        Fault.SSE_CRLF,
        Fault.NOT_A_STREAM,
        Fault.TEXT_AFTER_FINISH,
        Fault.ENDLESS_LINE,
    }
)
"""Faults that leave an answer alone unless it is streamed."""

BENIGN_FAULTS = frozenset(
    {
        Fault.NO_DONE,
        Fault.SSE_GARBAGE,
        Fault.SSE_CRLF,
        Fault.WRONG_CONTENT_TYPE,
        Fault.WRONG_USAGE,
        Fault.TWO_CHOICES,
        Fault.DRIP,
        Fault.FENCED_JSON,
        Fault.PROSE_AROUND_JSON,
    }
)
"""Faults after which the whole first answer has arrived: a client may fail, and had better not."""
