"""What was found: passages, evidence, what an agent says about them, and what its quotes are cited as."""

import re
from collections.abc import Sequence
from datetime import date, datetime
from typing import Literal
from uuid import UUID

from pydantic import Field

from app.domain.documents import DocumentTitle
from app.domain.principal import Scope
from app.domain.record import Address, Record

SourceType = Literal["rag", "log", "math", "mcp", "web", "file"]
Language = Literal["vi", "en"]
When = Literal["in_force", "otherwise", "upcoming"]
"""Which documents are searched: those in force on a day, all others, or only those that begin later."""


class Passage(Record):
    """A found chunk the caller may read, with its document and its scores."""

    chunk_id: UUID
    document_id: UUID
    external_id: str
    title: str
    section: str
    """Heading path inside the document, ``Chính sách nghỉ phép › Điều 5``; may be empty."""
    text: str
    """The chunk as stored: NFC, with diacritics."""
    page: int | None = None
    """1-based page, slide or sheet of the original; None for formats without pages."""
    url: str
    department: str
    scope: Scope
    language: str
    created_at: datetime
    effective_from: date | None
    effective_to: date | None
    authority: str
    similarity: float
    """Cosine of question and passage as they are stored: under a calibrated model centred by language, so that
    unrelated text lies around 0."""
    text_rank: float
    """Full-text rank, 0 when no word matched."""
    relevance_score: float = Field(ge=0, le=1)
    """Calibrated: an estimate of how likely this passage bears on the question (0–1)."""
    fused_score: float
    """Weighted reciprocal-rank sum: chose the passages, which relevance and places then order; means nothing by
    itself."""

    @property
    def address(self) -> str:
        """The document's address with the page, ``…/handbook.pdf#page=3`` (RFC 8118); without one for other formats."""
        return self.url if self.page is None or "#" in self.url else f"{self.url}#page={self.page}"

    @property
    def is_document(self) -> bool:
        """Whether it stands in a document of the company: not in a log, an attached file or on the web."""
        return self.authority not in _NO_DOCUMENTS


_NO_DOCUMENTS = frozenset({"log", "attachment", "web"})


class SearchPlan(Record):
    """How a search was done; reported with its result."""

    strategy: Literal["exact", "ann"]
    """Every visible chunk compared, or the tenant's own approximate index walked."""
    embedding_model: str
    legs: dict[str, float]
    """Weight of each fused leg: ``vector``, ``text``, ``folded``."""
    unaccented: bool
    """Whether the query was taken as Vietnamese typed without diacritics."""
    by_words_alone: bool = False
    """Vectors were left out: the tenant's are of another model until they are computed anew."""
    visible: int | None = None
    """Chunks the caller may see in what was searched, counted at this state of the corpus."""
    candidates: int
    """How many passages were considered before cutting to the limit."""
    returned: int = 0
    """How many were given back."""
    duration_ms: float
    cached: bool = False


class SearchResult(Record):
    """Passages, best first, and how they were found."""

    query: str
    passages: tuple[Passage, ...]
    plan: SearchPlan


class Evidence(Record):
    """What an answer cites (§3 and §5 of the flow)."""

    url: str
    created_at: datetime
    source_type: SourceType
    scope: Scope
    relevance_score: float = Field(ge=0, le=1)


class Quote(Record):
    """An exact span of a passage that carries part of an answer."""

    passage: Passage
    text: str
    """Literally contained in ``passage.text`` (or in its section heading)."""
    score: float = Field(ge=0, le=1)
    against: "Quote | None" = None
    """Of a counterpart: what it was read as another value of, in the first quote or elsewhere in its document."""


class Finding(Record):
    """One agent's answer to one of its queries, before conflicts are resolved."""

    agent: str
    index: int = Field(ge=1)
    query: str
    context: str
    """Where the answer comes from, one sentence in the asker's language (document titles)."""
    answer: str
    found: bool
    confidence: float = Field(ge=0, le=1)
    quotes: tuple[Quote, ...] = ()
    """What supports the answer, strongest first; every evidence comes from here."""
    evidence: tuple[Evidence, ...] = ()
    counterparts: tuple[Quote, ...] = ()
    """What documents that are not quoted say in the same place; no part of the answer, but it may disagree with it."""
    compares: bool = False
    """Whether the answer tells how its quotes differ from one another: that is no conflict then."""
    is_closest: bool = False
    """Whether it only shows the passage closest to the question, which may not answer it."""
    not_in_force: bool = False
    """Whether it rests on documents that are not yet, or no longer, in force."""
    read: tuple[Quote, ...] = ()
    """Every passage the query was answered from, with the piece likeliest to answer it; only where a model writes the
    answer from them."""

    def emptied(self) -> "Finding":
        """The same question with nothing found."""
        nothing = {"found": False, "answer": "", "confidence": 0.0, "quotes": (), "evidence": ()}
        return self.model_copy(update=nothing)


class DocumentDraft(Record):
    """A document as it is brought in (`POST /documents`, `conclave ingest`, `seed_data/`)."""

    title: str
    text: str
    url: Address
    department: str
    scope: Scope
    created_at: datetime
    effective_from: date | None = None
    effective_to: date | None = None
    supersedes: str | None = None
    """external_id of the document this one replaces."""
    authority: str = "policy"
    external_id: str
    """Unique per tenant; the same one again makes a new version."""
    lang: str = ""


class ChunkDraft(Record):
    """A piece of a document that is embedded and found as one."""

    position: int
    """0-based order inside the document."""
    section: str
    """Heading path, ``Điều 5 › Chuyển phép``."""
    text: str
    """NFC; self-contained enough to be quoted."""
    page: int | None = Field(default=None, ge=1)
    """1-based page, slide or sheet it begins on; None for formats without pages."""


CITATION = re.compile(r"\s*(?:\[\^?(?P<one>\d{1,4}(?:\s*[,;]\s*\d{1,4})*)\](?!\()|【(?P<two>\d{1,4})[^】\n]{0,20}】)")


def without_citations(text: str) -> str:
    """A document's words without what would be read as citations of ours."""
    return CITATION.sub("", text)


def evidence_of(quotes: Sequence[Quote]) -> tuple[Evidence, ...]:
    """One evidence a document, or page of a paged one, in order of its first quote, as relevant as its best passage."""
    by_url: dict[str, Evidence] = {}
    for quote in quotes:
        passage = quote.passage
        known = by_url.get(passage.address)
        relevance = max(passage.relevance_score, known.relevance_score if known else 0.0)
        by_url[passage.address] = Evidence(
            url=passage.address, created_at=passage.created_at, source_type="rag", scope=passage.scope,
            relevance_score=round(relevance, 4),
        )  # fmt: skip
    return tuple(by_url.values())


def without_page(url: str) -> str:
    """The document's address in that of an evidence."""
    return url.split("#page=")[0]


def titles_by_url(evidence: Sequence[tuple[str, datetime]], documents: Sequence[DocumentTitle]) -> dict[str, str]:
    """Titles of evidence (address, day of its document) by address; the day tells versions that share an address
    apart."""
    found: dict[str, str] = {}
    for url, made in evidence:
        named = [document for document in documents if document.url == without_page(url)]
        same_day = [document for document in named if document.created_at.date() == made.date()]
        if named:
            found[url] = (same_day or named)[0].title
    return found
