"""Texts that try to become more than text: in answers, titles, names of files, questions, messages of errors."""

import json
from pathlib import Path

_LISTED: tuple[str, ...] = tuple(map(json.loads, Path(__file__).with_suffix(".txt").read_text("utf-8").splitlines()))
"""Tags with handlers, addresses that run or fetch something, Markdown that hides either; `hit()` counts what runs."""
_IN_A_TABLE = "| {0} | b |\n|---|---|\n| a | {0} |"
PAYLOADS = (*_LISTED, *(_IN_A_TABLE.format(one) for one in _LISTED[::2] if "\n" not in one))
