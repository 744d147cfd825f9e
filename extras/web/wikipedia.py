"""`wikipedia_tool`: find an article of an encyclopedia that speaks MediaWiki's API, and answer from it."""

import re
from collections.abc import Iterator
from datetime import datetime
from urllib.parse import quote, urlencode

from pydantic import Field, ValidationError

from app.domain.knowledge import Language
from app.domain.plan import WIKIPEDIA_TOOL
from app.domain.record import Record
from app.errors import ToolFailed
from app.reasoning import Reasoner
from app.text.language import clean, content_words
from app.tools.base import ToolCall
from extras.web.addresses_in_question import asked_of
from extras.web.fetching import fetched_for, sentence, trace_of
from extras.web.reading import Reading, ReadingTool, Source, Text, pieces_of
from extras.web.safe_http import Fetcher

WIKIPEDIA = "https://{lang}.wikipedia.org/w/api.php"
_JSON = frozenset(("application/json",))
_OTHER: dict[Language, Language] = {"vi": "en", "en": "vi"}
_HITS, _SEARCHES = 3, 3
_MAX_QUERY_CHARS = 300
"""The longest query the search takes."""
_NAMING = re.compile(r"\b(?:theo\s+|trên\s+|according to\s+|on\s+)?wikipedia\b[\s,:]*", re.IGNORECASE)
_NAME = re.compile(r"[^\W\d_a-z][\w'-]*(?:\s+(?:[^\W\d_a-z][\w'-]*|\d+))*")
_HEADING = re.compile(r"^(={2,6})\s*(.+?)\s*\1\s*$", re.MULTILINE)
_PLAIN_TITLE = "!$'()*,-./:;@_~"


class WikipediaArguments(Record):
    """What to look up."""

    topic: str = Field(description="What to look up: the subject of the question, as an article may be called")
    question: str = Field("", description="What the article shall answer", max_length=4_000)


class _Hit(Record, extra="ignore"):
    title: str


class _Revision(Record, extra="ignore"):
    revid: int
    timestamp: datetime


class _Article(Record, extra="ignore"):
    title: str
    extract: str = ""
    revisions: tuple[_Revision, ...] = ()
    pageprops: dict[str, str] = {}

    @property
    def is_readable(self) -> bool:
        """Whether it says something itself: a list of what a name may mean does not."""
        return bool(self.extract.strip()) and "disambiguation" not in self.pageprops and bool(self.revisions)


class _Query(Record, extra="ignore"):
    search: tuple[_Hit, ...] = ()
    pages: tuple[_Article, ...] = ()


class _Reply(Record, extra="ignore"):
    query: _Query


class WikipediaTool(ReadingTool[WikipediaArguments]):
    """Looks a subject up in Wikipedia and answers from the article, citing the revision that was read."""

    name = WIKIPEDIA_TOOL
    arguments = WikipediaArguments

    def __init__(self, reasoner: Reasoner, fetcher: Fetcher, reading: Reading, base_url: str = WIKIPEDIA):
        """`base_url`: of ``api.php``; ``{lang}`` in it becomes the language of the asker."""
        super().__init__(reasoner, fetcher, reading)
        self._base_url = base_url

    async def fetch(
        self, call: ToolCall, query: str, arguments: WikipediaArguments, trace: list[str]
    ) -> tuple[Text | None, str]:
        """The best article, of the other language where the asker's has none, and what is asked of it."""
        question = _NAMING.sub("", arguments.question or query).strip()
        article, language = await self._found(call, _NAMING.sub("", arguments.topic).strip() or question, trace)
        if article is None:
            return None, asked_of(question)
        read = Text(self._source(article, language), pieces_of(_HEADING.sub(_as_markdown, article.extract)))
        return read, asked_of(question, known=article.title)

    async def _found(self, call: ToolCall, topic: str, trace: list[str]) -> tuple[_Article | None, Language]:
        languages = (call.language, _OTHER[call.language]) if "{lang}" in self._base_url else (call.language,)
        for language in languages:
            for words in _searches(topic):
                titles = await self._search(call, language, words, trace)
                for title in titles:
                    article = await self._article(call, language, title, trace)
                    if article is not None and article.is_readable:
                        return article, language
        return None, call.language

    async def _search(self, call: ToolCall, language: Language, words: str, trace: list[str]) -> tuple[str, ...]:
        asked = {"list": "search", "srsearch": words, "srlimit": str(_HITS), "srprop": "", "srinfo": ""}
        return tuple(hit.title for hit in (await self._query(call, language, asked, trace)).search)

    async def _article(self, call: ToolCall, language: Language, title: str, trace: list[str]) -> _Article | None:
        asked = {
            "prop": "extracts|revisions|pageprops", "titles": title, "redirects": "1", "explaintext": "1",
            "exsectionformat": "wiki", "rvprop": "ids|timestamp", "ppprop": "disambiguation",
        }  # fmt: skip
        pages = (await self._query(call, language, asked, trace)).pages
        return pages[0] if pages else None

    async def _query(self, call: ToolCall, language: Language, asked: dict[str, str], trace: list[str]) -> _Query:
        """What the API says under ``query``. Raises `ToolFailed` where that makes no sense, `ToolRetry`."""
        fixed = {"action": "query", "format": "json", "formatversion": "2"}
        url = f"{self._base_url.replace('{lang}', language)}?{urlencode(fixed | asked)}"
        fetched = await fetched_for(call, self._fetcher, url, _JSON, language=language)
        trace.append(trace_of(fetched))
        try:
            return _Reply.model_validate_json(fetched.content).query
        except ValidationError as odd:
            raise ToolFailed(sentence("web", "no_article", call.language)) from odd

    def _source(self, article: _Article, language: Language) -> Source:
        """The article as it was read: the address names the revision."""
        revision = article.revisions[0]
        base = self._base_url.replace("{lang}", language).removesuffix("api.php")
        title = quote(article.title.replace(" ", "_"), safe=_PLAIN_TITLE)
        url = f"{base}index.php?title={title}&oldid={revision.revid}"
        return Source(url, f"Wikipedia: {' '.join(clean(article.title).split())}", revision.timestamp)


def _searches(topic: str) -> Iterator[str]:
    """What to search for, the most telling first: search engines of wikis want every word to occur."""
    names = sorted({match[0] for match in _NAME.finditer(topic) if content_words(match[0])}, key=len, reverse=True)
    told = dict.fromkeys((" ".join(content_words(topic)), *names, topic))
    yield from (words[:_MAX_QUERY_CHARS] for words in list(filter(None, told))[:_SEARCHES])


def _as_markdown(match: re.Match[str]) -> str:
    return f"\n{'#' * len(match[1])} {match[2]}\n"
