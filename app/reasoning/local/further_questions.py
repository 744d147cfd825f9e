"""Questions the asker may want to ask next: what the same documents tell besides what was quoted."""

from collections.abc import Iterator, Sequence

from app.domain.knowledge import Finding, Language, Passage, Quote
from app.reasoning.local.rendering import units_covered
from app.reasoning.local.sentences import bare_heading, headings_of
from app.reasoning.local.terms import bag_of, coverage, terms_of
from app.reasoning.local.wording import lower_first
from app.text.language import guess_language

_ASKED: dict[Language, str] = {"vi": "{heading} được quy định thế nào?", "en": "What is said about {heading}?"}
_MORE: dict[Language, str] = {"vi": "“{title}” còn quy định những gì?", "en": "What else does “{title}” say?"}
_MORE_DOCUMENTS = 2
_ANSWERED = 0.75
_DULL = frozenset({"lien he", "contact", "questions", "lien he va ho tro", "owner", "pham vi ap dung", "scope"})
_MAX_WORDS = 14


def further_questions(query: str, findings: Sequence[Finding], language: Language, limit: int) -> tuple[str, ...]:
    """At most `limit` questions made from headings near the quotes that the answer did not use, most relevant first.

    Of logs, attached files and pages of others nothing further is offered.
    """
    found: dict[str, None] = {}
    found_quotes = [quote for finding in findings if finding.found for quote in finding.quotes]
    quotes = [quote for quote in found_quotes if quote.passage.is_document]
    for heading in _unused_headings(quotes):
        question = _as_question(heading, language)
        if question and not _is_answered(question, query):
            found.setdefault(question)
    titled = [passage for passage in _passages(quotes) if guess_language(passage.title) == language]
    for passage in titled[:_MORE_DOCUMENTS]:
        found.setdefault(_MORE[language].format(title=passage.title))
    return tuple(found)[:limit]


def _passages(quotes: Sequence[Quote]) -> list[Passage]:
    return list({quote.passage.document_id: quote.passage for quote in quotes}.values())


def _unused_headings(quotes: Sequence[Quote]) -> Iterator[str]:
    used = {
        bare_heading(unit.heading) for quote in quotes for unit in units_covered(quote.passage.text, quote.text)
    } | {bare_heading(quote.passage.section.split("›")[-1].strip()) for quote in quotes}
    for passage in {quote.passage.chunk_id: quote.passage for quote in quotes}.values():
        outer = passage.section.split("›")[:-1]
        for heading in (*headings_of(passage.text), *(part.strip() for part in reversed(outer))):
            bare = bare_heading(heading)
            if bare and bare not in used:
                yield bare


def _as_question(heading: str, language: Language) -> str:
    """The heading as a question; empty when it is in the other language or leads nowhere."""
    bare = heading.strip(" .:")
    if guess_language(bare) != language or len(bare.split()) > _MAX_WORDS or _is_dull(bare):
        return ""
    if bare.endswith("?"):
        return bare
    named = bare if language == "vi" else lower_first(bare)
    return _ASKED[language].format(heading=named)


def _is_dull(heading: str) -> bool:
    return " ".join(sorted(bag_of(heading, True).stems)) in {
        " ".join(sorted(bag_of(dull, True).stems)) for dull in _DULL
    }


def _is_answered(question: str, query: str) -> bool:
    terms = terms_of(question)
    return bool(terms) and coverage(terms, [term.weight for term in terms], bag_of(query)) >= _ANSWERED
