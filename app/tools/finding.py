"""A computed or fetched result as a finding, so that later steps, the resolver and the composer treat it as any."""

from datetime import datetime

from app.domain.knowledge import Evidence, Finding, Quote, SourceType
from app.domain.principal import Scope
from app.tools.base import ToolCall


def computed(
    call: ToolCall,
    index: int,
    query: str,
    answer: str,
    *,
    source_type: SourceType,
    url: str,
    scope: Scope = "public",
    created_at: datetime | None = None,
    context: str = "",
    confidence: float = 1.0,
    quotes: tuple[Quote, ...] = (),
) -> Finding:
    """A finding with one evidence.

    Args:
        call: The call that made it.
        index: Of the query, from 1.
        query: What was asked.
        answer: One or a few sentences in the asker's language; empty = nothing was found.
        source_type: Where the result comes from.
        url: Names what was done or read: ``math:2+4``, ``mcp:math/mcp_sum?a=2&b=4``, a page's address.
        scope: Of the source.
        created_at: Of the source; None = now, it was computed.
        context: Where the answer comes from, for people.
        confidence: 0-1.
        quotes: Exact spans that support it, where it was read.
    """
    found = bool(answer)
    evidence = Evidence(
        url=url, created_at=created_at or call.now, source_type=source_type, scope=scope, relevance_score=confidence
    )
    return Finding(
        agent=call.agent,
        index=index,
        query=query,
        context=context,
        answer=answer,
        found=found,
        confidence=confidence if found else 0.0,
        quotes=quotes,
        evidence=(evidence,) if found else (),
    )
