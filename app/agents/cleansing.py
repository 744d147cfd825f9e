"""What a tool found, without addresses that are not in its own evidence: it is shown while the run goes on."""

from app.domain.knowledge import Finding, Language
from app.links import LinkGuard
from app.tools.base import ToolCall, ToolResult


def cleansed(result: ToolResult, language: Language, trusted_hosts: frozenset[str]) -> ToolResult:
    """The result with clean texts. Quotes stay literal: they are compared, not shown."""
    findings = tuple(_finding(finding, language, trusted_hosts) for finding in result.findings)
    text = _guard(result.findings, language, trusted_hosts).clean(result.text)
    return result.model_copy(update={"findings": findings, "text": text})


def cleansed_reason(reason: str, call: ToolCall) -> str:
    """Why something was refused or failed, without any address: a model that has read documents may have put it so."""
    return LinkGuard((), language=call.language, known_text="\n".join(text for _, text in call.queries)).clean(reason)


def _finding(finding: Finding, language: Language, hosts: frozenset[str]) -> Finding:
    guard = _guard((finding,), language, hosts)
    return finding.model_copy(update={"answer": guard.clean(finding.answer), "context": guard.clean(finding.context)})


def _guard(findings: tuple[Finding, ...], language: Language, hosts: frozenset[str]) -> LinkGuard:
    urls = [evidence.url for finding in findings for evidence in finding.evidence]
    known = [quote.passage.text for finding in findings for quote in finding.quotes]
    known += [finding.query for finding in findings]
    return LinkGuard(urls, language=language, known_text="\n".join(known), hosts=hosts)
