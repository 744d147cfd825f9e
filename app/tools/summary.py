"""`summary_tool`: the gist of what earlier steps found."""

from app.domain.knowledge import Finding
from app.errors import AppError, ErrorCode
from app.reasoning import Reasoner
from app.tools.base import ToolCall, ToolResult


class SummaryTool:
    """Summarises what earlier steps found, keeping numbers and negations."""

    name = "summary_tool"
    alternative: str | None = None
    """None in the toolbox: this tool falls back by itself to the plain answers, one below the other."""

    def __init__(self, reasoner: Reasoner):
        self._reasoner = reasoner

    async def __call__(self, call: ToolCall) -> ToolResult:
        """Summarise the findings of the call for its question; they are passed on as they came.

        Nothing found is no failure: the text is empty then.
        """
        found = [finding for finding in call.findings if finding.found]
        text = await self._summarise(call, found) if found else ""
        return ToolResult(text=text, findings=call.findings)

    async def _summarise(self, call: ToolCall, found: list[Finding]) -> str:
        """The reasoner's summary; the joined answers when it has nothing to say or cannot be reached."""
        try:
            summary = await self._reasoner.summarise(call.refined_query, found, call.language)
        except AppError as refusal:
            if refusal.code not in (ErrorCode.LLM_UNAVAILABLE, ErrorCode.BUDGET_EXHAUSTED):
                raise
            return joined(found)
        return summary.text.strip() or joined(found)


def joined(findings: list[Finding]) -> str:
    """The plain answers, each once, one below the other."""
    return "\n".join(dict.fromkeys(finding.answer for finding in findings if finding.answer))
