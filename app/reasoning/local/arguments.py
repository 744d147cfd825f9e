"""Typed arguments of tool calls, each traced to the question or to a quote."""

from collections.abc import Mapping, Sequence
from typing import Any

from app.domain.knowledge import Finding, Language
from app.domain.plan import CHANGES_TOOL, LOG_TOOL, MATH_TOOL
from app.reasoning import Arguments
from app.reasoning.local.changes import changes_arguments
from app.reasoning.local.log_arguments import log_arguments
from app.reasoning.local.math_arguments import math_arguments
from app.reasoning.local.schema_arguments import schema_arguments


def arguments(
    tool: str, query: str, findings: Sequence[Finding], language: Language, schema: Mapping[str, Any] | None = None
) -> Arguments:
    """Arguments for `tool`; by its schema where the rules do not know it, none without one."""
    if tool == MATH_TOOL:
        return math_arguments(query, findings, language)
    if tool == LOG_TOOL:
        return log_arguments(query)
    if tool == CHANGES_TOOL:
        return changes_arguments(query)
    return Arguments(values={}) if schema is None else schema_arguments(tool, query, language, schema)
