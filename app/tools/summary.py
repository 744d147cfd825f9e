"""`summary_tool`: the gist of what earlier steps found, in their own words."""

from collections.abc import Sequence

from pydantic import JsonValue

from app.domain.knowledge import Finding
from app.reasoning import Reasoner, Summary
from app.tools.base import ToolCall, ToolResult


class SummaryTool:
    """Summarises what earlier steps found: spans of it, so that numbers and negations stay with what they belong to."""

    name = "summary_tool"
    alternative: str | None = None
    """None in the toolbox: this tool falls back by itself to the plain answers, one below the other."""

    def __init__(self, reasoner: Reasoner):
        self._reasoner = reasoner

    async def __call__(self, call: ToolCall) -> ToolResult:
        """Summarise the findings of the call for its question; they are passed on as they came, with their evidence.

        `value` tells which finding each line comes from. Nothing found is no failure: the text is empty then.
        """
        found = [(at, finding) for at, finding in enumerate(call.findings) if finding.found]
        if not found:
            return ToolResult(text="", findings=call.findings)
        told = await self._reasoner.summarise(call.refined_query, [finding for _, finding in found], call.language)
        return ToolResult(
            text=told.text or joined([finding for _, finding in found]), findings=call.findings,
            value=_cited(told, found),
            trace=(f"{len(told.lines)} lines from {len(set(told.sources))} of {len(found)} findings",),
        )  # fmt: skip


def joined(findings: Sequence[Finding]) -> str:
    """The plain answers, each once, one below the other."""
    return "\n".join(dict.fromkeys(finding.answer for finding in findings if finding.answer))


def _cited(told: Summary, found: Sequence[tuple[int, Finding]]) -> JsonValue:
    """Each line with the finding it comes from (its place among the call's) and what that cites."""
    statements: list[JsonValue] = []
    for line, source in zip(told.lines, told.sources, strict=True):
        at, finding = found[source]
        urls = dict.fromkeys(evidence.url for evidence in finding.evidence)
        statements.append({"text": line, "findings": [at], "urls": list(urls)})
    return {"statements": statements}
