"""Reads when a document says it holds and which one it replaces: proposals for its administrator, never applied."""

import re
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

from app.domain.documents import ParseNote
from app.domain.knowledge import DocumentDraft
from app.ingestion.parsing import WarningCode
from app.ingestion.parsing.outcome import warning
from app.ingestion.planted import split
from app.text.dates import dates_in, flat_of
from app.text.language import words

_SAID: dict[str, list[str]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_FOLDERS, _TITLES, _OTHER = _SAID.pop("notice_folders"), _SAID.pop("notice_titles"), r"(?:\W+[a-z]+){0,3}?\W+"
_CUES = {
    field: re.compile("|".join(rf"\b{one.replace(' ', _OTHER)}\b" for one in told)) for field, told in _SAID.items()
}
_NEAR = re.compile(r"(?:\W+[a-z]+){0,2}\W*")
"""What may stand between the words and the day."""
Said = tuple[str, str, str]
"""A field, its value (a day as ISO writes it, or the words that name the other document), and the sentence."""


def said_of(draft: DocumentDraft) -> list[Said]:
    """What the text says of its days and of what it replaces, and the fields do not say as well; CPU only."""
    sentences = (draft.text[one.start : one.end] for one in split(draft.text))
    found = ((field, value, one) for one in sentences for field, value in _read(one, draft))
    return [(field, value, one) for field, value, one in found if value != str(getattr(draft, field))]


def _read(sentence: str, draft: DocumentDraft) -> Iterator[tuple[str, str]]:
    flat = flat_of(sentence)
    for field, cue in ((field, cue) for field, cues in _CUES.items() for cue in cues.finditer(flat)):
        if field == "supersedes":
            yield field, sentence[cue.end() :]
            continue
        for day in dates_in(sentence, draft.created_at.date()):
            if day.is_dated and day.start >= cue.end() and _NEAR.fullmatch(flat, cue.end(), day.start):
                yield field, (day.first if field == "effective_from" else day.last).isoformat()


def notes(said: Sequence[Said], named: tuple[str, str] | None, draft: DocumentDraft) -> list[ParseNote]:
    """Propose the first that is said of each day, and the document that was `named`; nothing where nothing is left."""
    first = {field: (value, sentence) for field, value, sentence in reversed(said) if field != "supersedes"}
    if named and named[0] != draft.supersedes:
        first["supersedes"] = named[0], next(sentence for _, value, sentence in said if value == named[1])
    told = warning(WarningCode.SAYS_WHEN_IT_HOLDS, len(first)).model_copy(update={"proposes": first})
    return [told] if first else []


def is_notice(title: str, *paths: str) -> bool:
    """Whether the beginning of a title, or a folder of an address or a file, names it news or a notice."""
    begins, *folders = (
        " ".join(words(flat_of(one))) for one in (title, *(part for path in paths for part in path.split("/")))
    )
    return any(f"{begins} ".startswith(f"{one} ") for one in _TITLES) or any(one in _FOLDERS for one in folders)
