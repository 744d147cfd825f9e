"""The conversations a person finds again: listed, searched, renamed, pinned, archived. Nobody else sees them."""

import re
from functools import lru_cache
from uuid import UUID

from pydantic import AwareDatetime, TypeAdapter

from app.domain.principal import Principal
from app.domain.tasks import Session
from app.errors import AppError, ErrorCode
from app.storage import history
from app.storage.database import Database
from app.storage.history import Shelf
from app.storage.paging import cut_page, read_cursor
from app.text.language import fold, normalise

MAX_SNIPPET_CHARS = 160
_BEFORE_CHARS = 50
"""Of a snippet, what stands before the words that were looked for."""
_PLACE: TypeAdapter[tuple[bool, AwareDatetime, UUID]] = TypeAdapter(tuple[bool, AwareDatetime, UUID])


async def list_sessions(
    database: Database, caller: Principal, text: str | None, shelf: Shelf, cursor: str | None, limit: int
) -> tuple[tuple[Session, ...], str | None]:
    """A page, pinned first and then last used first, and the next cursor. Does I/O.

    With a `text` only those in whose title, or in one of whose turns, all its words stand, the last one also as a
    beginning, with a snippet of the last such turn; a text without words finds nothing. Raises `AppError` (422) for a
    foreign cursor.
    """
    key = read_cursor(_PLACE, cursor)
    behind = None if key is None else history.Place(*key)
    async with database.principal_scope(caller) as tx:
        words = [] if text is None else await history.folded_words(tx, text)
        if text is None:
            found = await history.list_sessions(tx, shelf, behind, limit + 1)
        elif words:
            found = await history.search_sessions(tx, words, shelf, behind, limit + 1)
        else:
            found = []
    page, following = cut_page(_PLACE, found, limit, lambda last: _key(last.session))
    return tuple(
        one.session.model_copy(update={"snippet": snippet_of((one.question, one.answer), words)}) for one in page
    ), following


def _key(session: Session) -> tuple[bool, AwareDatetime, UUID]:
    return session.pinned, session.updated_at, session.session_id


async def change_session(
    database: Database, caller: Principal, session_id: UUID, title: str | None, pinned: bool | None,
    archived: bool | None,
) -> Session:  # fmt: skip
    """Rename, pin or archive an own conversation; None leaves a thing as it is. Raises `AppError` (404) for unknown and
    foreign ids alike."""
    async with database.principal_scope(caller) as tx:
        changed = await history.change_session(tx, session_id, title=title, pinned=pinned, archived=archived)
    if changed is None:
        raise AppError(ErrorCode.NOT_FOUND, "There is no such session.", status=404)
    return changed


def snippet_of(texts: tuple[str, ...], words: list[str]) -> str | None:
    """Where the words stand in the first of `texts` that holds them, side by side if anywhere; at most
    `MAX_SNIPPET_CHARS`. None when no text holds any of them."""
    for pattern in (r"[\W_]+".join(map(re.escape, words)), "|".join(map(re.escape, words))) if words else ():
        for text in texts:
            spelt = normalise(text.replace("**", ""))
            plain = "".join(map(_plain, spelt))  # as long as the text
            if found := re.search(rf"(?<![^\W_])(?:{pattern})", plain):
                return _cut(spelt, found.start())
    return None


@lru_cache(4_096)
def _plain(character: str) -> str:
    """One character for one: without case and accent."""
    return fold(character).lower()[:1] or " "


def _cut(text: str, at: int) -> str:
    """The text around a place, whole words where there are any, with an ellipsis where something is left out."""
    begin = 0 if at <= _BEFORE_CHARS else (text.find(" ", at - _BEFORE_CHARS, at) + 1 or at)
    end = begin + MAX_SNIPPET_CHARS - (begin > 0)
    if end < len(text):
        end -= 1
        end = max(text.rfind(" ", at, end), 0) or end
    return ("…" if begin else "") + text[begin:end].strip() + ("…" if end < len(text) else "")
