"""Files in, Markdown out: what a file is (`sniff`), what it says (`Parser`), and why it could not be read.

Bytes from outside are opened in a process of their own without files, network or children, and killed at its limits
(`app.confinement`). `reading` and what it imports runs only there.
"""

from app.ingestion.parsing.outcome import (
    DescribedFile,
    DescribedKind,
    FileKind,
    ParsedFile,
    ParseFailed,
    ParseFailure,
    ParseLimits,
    WarningCode,
)
from app.ingestion.parsing.parser import Parser
from app.ingestion.parsing.sniff import sniff

__all__ = [
    "DescribedFile", "DescribedKind", "FileKind", "ParseFailed", "ParseFailure", "ParseLimits",
    "ParsedFile", "Parser", "WarningCode", "sniff",
]  # fmt: skip
