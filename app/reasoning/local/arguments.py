"""Typed arguments of tool calls, each traced to the question or to a quote."""

from collections.abc import Sequence

from app.domain.knowledge import Finding, Language
from app.domain.plan import LOG_TOOL, MATH_TOOL
from app.reasoning import Arguments
from app.reasoning.local.log_arguments import log_arguments
from app.reasoning.local.math_arguments import math_arguments


def arguments(tool: str, query: str, findings: Sequence[Finding], language: Language) -> Arguments:
    """Arguments for `tool`; none for a tool that is not known here."""
    if tool == MATH_TOOL:
        return math_arguments(query, findings, language)
    return log_arguments(query) if tool == LOG_TOOL else Arguments(values={})
