"""What OpenAI's clients wish for beside an answer, and what comes of it: honoured, told, or refused with a reason."""

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import Field

from app.api.schemas import Text
from app.errors import AppError, ErrorCode
from app.faces.asking import OtherPart, Received, TextPart
from app.text.language import BYTES_PER_TOKEN, guess_language

_NO_JSON = "response_format: answers are text with their sources; leave it out, or send the type text."
_NO_TOOLS = "tool_choice: tools of yours are never called here; leave it out, or send auto or none."
_LEFT_OUT = {
    "vi": "\n\nLưu ý: {parts} gửi kèm không được đọc; câu trả lời chỉ dựa vào phần chữ của câu hỏi.",
    "en": "\n\nNote: what was sent along ({parts}) was left out; only the text of the question was read.",
}
_NAMES = {"vi": {"image": "hình ảnh", "audio": "âm thanh", "file": "tệp"}, "en": {}}


class Format(Received):
    """The form of an answer."""

    type: Text = Field("text", max_length=64)


class Wished(Received):
    """Wishes that completions and responses have in common."""

    tool_choice: Text | dict[str, Any] | None = None
    """``required``, or one tool by name, is refused (422): tools are the agents' own."""

    def check(self, form: Format | None) -> None:
        """Refuse what would be broken in silence. Raises `AppError` (422)."""
        if form is not None and form.type != "text":
            raise AppError(ErrorCode.PAYLOAD_INVALID, _NO_JSON, status=422)
        if self.tool_choice not in (None, "auto", "none"):
            raise AppError(ErrorCode.PAYLOAD_INVALID, _NO_TOOLS, status=422)


class Written:
    """The text of an answer as its client gets it: at most so many tokens, and a note of what was left out."""

    def __init__(self, max_tokens: int | None, note: str):
        self._max_bytes = None if max_tokens is None else int(max_tokens * BYTES_PER_TOKEN)
        self._note = note
        self._whole = self.text = ""

    @property
    def is_cut(self) -> bool:
        """Whether text was left out at the end."""
        return self._whole != self.text

    def add(self, text: str) -> str:
        """What of the next piece is given out."""
        self._whole += text
        kept = self._whole.encode("utf-8", "replace")[: self._max_bytes].decode("utf-8", "ignore")
        piece, self.text = kept[len(self.text) :], kept
        return piece

    def end(self) -> str:
        """The note behind the text, given out once; empty where nothing was left out of the question."""
        note, self._note = self._note, ""
        self.text += note
        self._whole += note
        return note


def note_of_parts(parts: Iterable[TextPart | OtherPart], text: str) -> str:
    """A note in the language of `text` that names the kinds of parts that cannot be read here; empty without any."""
    language = guess_language(text)
    names: Mapping[str, str] = _NAMES[language]
    kinds = dict.fromkeys(_kind(part.type) for part in parts if isinstance(part, OtherPart))
    told = ", ".join(names.get(kind, kind) for kind in kinds)
    return _LEFT_OUT[language].format(parts=told) if told else ""


def _kind(name: str) -> str:
    """``image`` of ``image_url`` and ``input_image``; ``part`` of what is not known."""
    return next((kind for kind in _NAMES["vi"] if kind in name), "part")
