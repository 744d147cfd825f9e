"""`summary_tool`: the gist of what earlier steps found, held against what they found."""

from collections.abc import Iterator, Sequence

from pydantic import JsonValue

from app.domain.knowledge import Finding
from app.errors import AppError, ErrorCode
from app.reasoning import Reasoner
from app.tools.base import ToolCall, ToolResult
from app.tools.grounding import Grounded, grounded

MAX_TOKENS = 400
"""Of a summary, estimated."""
_KEY_FINDINGS = 3
"""Of so many findings, the surest first, the first figures must not be lost."""


class SummaryTool:
    """Summarises what earlier steps found, keeping numbers and negations."""

    name = "summary_tool"
    alternative: str | None = None
    """None in the toolbox: this tool falls back by itself to the plain answers, one below the other."""

    def __init__(self, reasoner: Reasoner, max_tokens: int = MAX_TOKENS):
        self._reasoner, self._max_tokens = reasoner, max_tokens

    async def __call__(self, call: ToolCall) -> ToolResult:
        """Summarise the findings of the call for its question; they are passed on as they came, with their evidence.

        `value` tells which findings each statement comes from. Nothing found is no failure: the text is empty then.
        """
        found = [(at, finding) for at, finding in enumerate(call.findings) if finding.found]
        if not found:
            return ToolResult(text="", findings=call.findings)
        told = await self._summarise(call, [finding for _, finding in found])
        return ToolResult(
            text=told.text,
            findings=call.findings,
            value=_cited(told, found),
            trace=(
                f"{len(told.statements)} statements from {len(told.sources)} of {len(found)} findings; "
                f"{told.replaced} replaced, {told.restored} restored",
            ),
        )

    async def _summarise(self, call: ToolCall, found: list[Finding]) -> Grounded:
        """The reasoner's summary as far as the findings hold it; their own sentences when it has nothing to say or
        cannot be reached."""
        sources = [tuple(_texts(finding)) for finding in found]
        surest = sorted(range(len(found)), key=lambda at: -found[at].confidence)[:_KEY_FINDINGS]
        summary = await self._asked(call, found)
        told = grounded(summary, sources, key_sources=surest, max_tokens=self._max_tokens)
        if told.text:
            return told
        return grounded(joined(found), sources, key_sources=surest, max_tokens=self._max_tokens)

    async def _asked(self, call: ToolCall, found: list[Finding]) -> str:
        try:
            summary = await self._reasoner.summarise(call.refined_query, found, call.language)
        except AppError as refusal:
            if refusal.code not in (ErrorCode.LLM_UNAVAILABLE, ErrorCode.BUDGET_EXHAUSTED):
                raise
            return joined(found)
        return summary.text.strip() or joined(found)


def joined(findings: Sequence[Finding]) -> str:
    """The plain answers, each once, one below the other."""
    return "\n".join(dict.fromkeys(finding.answer for finding in findings if finding.answer))


def _texts(finding: Finding) -> Iterator[str]:
    """What a finding says: its quotes, then its answer in its own words."""
    for quote in finding.quotes:
        yield quote.text
    yield finding.answer


def _cited(told: Grounded, found: Sequence[tuple[int, Finding]]) -> JsonValue:
    """Each statement with the findings it comes from (their places among the call's) and what those cite."""
    statements: list[JsonValue] = []
    for one in told.statements:
        own = [found[source] for source in one.sources]
        urls = dict.fromkeys(evidence.url for _, finding in own for evidence in finding.evidence)
        statements.append({"text": one.text, "findings": [at for at, _ in own], "urls": list(urls)})
    return {"statements": statements}
