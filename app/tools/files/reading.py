"""Where the tool gets files from, and which of them a question is about."""

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files as resources
from pathlib import PurePosixPath
from typing import Protocol
from uuid import UUID

from app.domain.attachments import AttachedFile
from app.domain.knowledge import Language
from app.domain.principal import Principal
from app.errors import ToolFailed
from app.text.language import fold, words
from app.tools.base import ToolCall, outages_as_retry, side_by_side

_NONE: dict[Language, str] = {
    "vi": "Chưa có tệp nào được đính kèm vào câu hỏi.",
    "en": "No file is attached to the question.",
}
_GONE: dict[Language, str] = {
    "vi": "Tệp đính kèm không còn nữa (đã xoá hoặc hết hạn). Vui lòng tải lên lại.",
    "en": "The attached file is not there any more (deleted or expired). Please upload it again.",
}


class FileReader(Protocol):
    """What the tool needs of `ingestion.attached.Attachments`."""

    async def read(self, principal: Principal, file_id: UUID) -> AttachedFile | None:
        """A file of the principal with its content; None for every other id."""


async def files_of(reader: FileReader, call: ToolCall) -> tuple[AttachedFile, ...]:
    """The files of a call, in order. Raises `ToolFailed` when there are none or one is gone, `ToolRetry` in outages."""
    if not call.files:
        raise ToolFailed(_NONE[call.language])
    with outages_as_retry("The store of attached files"):
        found = await side_by_side([reader.read(call.principal, one) for one in dict.fromkeys(call.files)])
    if any(one is None for one in found):
        raise ToolFailed(_GONE[call.language])
    return tuple(one for one in found if one is not None)


def named_in(query: str, files: Sequence[AttachedFile]) -> tuple[AttachedFile, ...]:
    """The files a question calls by name; all when it names none."""
    said = fold(" ".join(words(query)))
    named = [file for file in files if _is_named(file.attachment.name, said)]
    return tuple(named or files)


@cache
def sentences(section: str) -> dict[Language, dict[str, str]]:
    """Read a section of ``sentences.json``: the sentences of answers, of refusals, of descriptions."""
    read: dict[str, dict[Language, dict[str, str]]] = json.loads(
        resources("app.tools.files").joinpath("sentences.json").read_text("utf-8")
    )
    return read[section]


def stem_of(file: AttachedFile) -> str:
    """The name of a file without its ending."""
    return PurePosixPath(file.attachment.name).stem


def _is_named(name: str, said: str) -> bool:
    return f" {fold(' '.join(words(name)))} " in f" {said} "
