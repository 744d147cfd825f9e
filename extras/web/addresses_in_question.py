"""Addresses that stand in a question, and the question without them.

Only these are ever read, and in a deep run those its own search gave: an address that a document, a page or a model
came up with is not.
"""

import re
from collections.abc import Iterable, Iterator

from app.errors import ToolFailed
from app.text.language import content_words, words
from app.tools.base import ToolCall
from extras.web.safe_http import FetchRefused, WebAddress, read_address
from extras.web.search import searched_addresses

_WORD = re.compile(r"[^\s<>\"“”‘’«»]+")
_OPENING, _ENDING = "([{'*_`", ".,;:!?…)]}'*_`"
_NAMED = re.compile(
    r"(?:https?://|www\.)\S+|[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}(?::\d+)?(?:[/?]\S*)?", re.IGNORECASE
)
"""A word that names an address, with a scheme or not."""
_FURNITURE_WORDS = (
    "đọc trang web website nội dung tóm tắt nói gì viết bài báo liên kết link địa chỉ theo cho biết xem giúp mở về là "
    "hãy tại trong này video clip phụ đề lời thoại read page site content contents summarise summarize summary say "
    "says said about article open tell url transcript watch according see what who is ai tra cứu"
)
_FURNITURE = frozenset(_FURNITURE_WORDS.split())
"""Words that ask for the page itself and for nothing in it."""
_NOT_STATED = {
    "vi": "Chỉ đọc được địa chỉ ghi trong câu hỏi. Vui lòng nêu đầy đủ địa chỉ, bắt đầu bằng https://.",
    "en": "Only an address that stands in the question is read. Please give it in full, beginning with https://.",
}


def stated_address(url: str, call: ToolCall, query: str) -> WebAddress:
    """`url` as it was read. Raises `ToolFailed` unless it stands in the question or in the plan, or a deep run's own
    search gave it, and `FetchRefused` where it is not written as an address should be."""
    wanted = read_address(url.strip()) if "://" in url else read_address(f"https://{url.strip()}")
    if wanted in set(_addresses((call.asked,) if call.asked else (query, call.refined_query, call.message))):
        return wanted
    if call.asked and wanted in set(searched_addresses(call.findings)):
        return wanted
    raise ToolFailed(_NOT_STATED[call.language])


def asked_of(text: str, known: str = "") -> str:
    """The question without addresses; empty when it asks for nothing but the page, or what `known` names."""
    left = " ".join(word for word in text.split() if not _NAMED.fullmatch(_bare(word)))
    return left if set(content_words(left)) - _FURNITURE - set(words(known)) else ""


def _addresses(texts: Iterable[str]) -> Iterator[WebAddress]:
    for text in texts:
        for word in _WORD.findall(text):
            # A bracket at the end may belong to the address or to the sentence.
            for candidate in {word, _bare(word), word.lstrip(_OPENING).rstrip(".,;:!?…")}:
                if _NAMED.fullmatch(candidate):
                    yield from _read(candidate)


def _read(word: str) -> Iterator[WebAddress]:
    try:
        yield read_address(word if "://" in word else f"https://{word}")
    except FetchRefused:
        return


def _bare(word: str) -> str:
    return word.lstrip(_OPENING).rstrip(_ENDING)
