"""The report as one HTML page that needs nothing else: no script, no font, no image, no other address.

It follows the reader's light or dark scheme and the width of the screen. Everything that was said by a document, a
model or a person is escaped, and the page's own policy lets nothing run.
"""

from collections.abc import Iterable
from html import escape
from pathlib import Path

from app.evaluation.comparison import Comparison
from app.evaluation.page import compared, figures, questions
from app.evaluation.report import Report

_STYLE = Path(__file__).parent / "page.css"
_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
"""


def report_page(report: Report, comparison: Comparison | None = None, *, left_out: int = 0) -> str:
    """The whole page; with a comparison it also tells what changed since the earlier run, with `left_out` that so many
    questions are not in this report. Reads its style sheet."""
    parts = [
        figures.heading(report),
        figures.tiles(report),
        figures.gates(report.gates),
        compared.changes(comparison) if comparison else "",
        figures.rates(report),
        figures.plots(report),
        figures.outcomes(report),
        figures.groups(report),
        questions.left_out(left_out),
        questions.wrong(report),
        questions.to_review(report),
        figures.circumstances(report),
    ]
    return html_page(f"Evaluation of {report.made_at:%Y-%m-%d %H:%M}", parts)


def html_page(title: str, parts: Iterable[str]) -> str:
    """A page of `parts`, which are HTML; empty ones are left out. Reads the style sheet."""
    head = _HEAD.format(title=escape(title), style=style_sheet())
    return head + "<main>\n" + "\n".join(part for part in parts if part) + "\n</main>\n</body>\n</html>\n"


def style_sheet() -> str:
    """What stands between the page's style tags. Reads a file."""
    return _STYLE.read_text("utf-8")
