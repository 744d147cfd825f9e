"""The report as one HTML page that needs nothing else: no script, no font, no image, no other address.

It follows the reader's light or dark scheme and the width of the screen. Everything that was said by a document, a
model or a person is escaped, and the page's own policy lets nothing run.
"""

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path

from app.evaluation.comparison import Comparison
from app.evaluation.figures import BY_NAME, LEADING
from app.evaluation.report import Asked, Circumstances, GateResult, Report, rows_of_groups, rows_of_rates, wrong_of

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
MOST = 60
"""Wrong answers shown; the JSON holds all."""
_MOST_CHARS = 4_000


def report_page(report: Report, comparison: Comparison | None = None, *, left_out: int = 0) -> str:
    """Write the whole page; with a comparison also what changed since the earlier run, with `left_out` that so many
    questions are not in this report. Reads its style sheet."""
    sets = ", ".join(one.name for one in report.datasets)
    about = f"{report.questions} questions from {sets} · {report.made_at:%d %B %Y, %H:%M} UTC"
    hidden = "left out here: asked about another company, or with rights you do not hold. The figures count them."
    parts = [
        f"<header><h1>Evaluation</h1><p>{escape(about)}</p></header>",
        section("Gates", gate_list(report.gates)) if report.gates else "",
        _changes(comparison) if comparison else "",
        section("Rates", table(("rate", "value", "95 % interval", "questions"), rows_of_rates(report))),
        section("Groups", table(("", "questions", *(BY_NAME[name].title for name in LEADING)), rows_of_groups(report))),
        section("Confidence", table(("confidence", "answers", "right"), _confidence(report))),
        section("Not shown", f"<p>{left_out} questions are {hidden}</p>") if left_out else "",
        section("Wrong answers", "".join(_wrong(report)) or "<p>None.</p>"),
        circumstances_list(report.circumstances),
    ]
    return html_page(f"Evaluation of {report.made_at:%Y-%m-%d %H:%M}", parts)


def html_page(title: str, parts: Iterable[str]) -> str:
    """Join `parts`, which are HTML, to a page; empty ones are left out. Reads the style sheet."""
    head = _HEAD.format(title=escape(title), style=style_sheet())
    return head + "<main>\n" + "\n".join(part for part in parts if part) + "\n</main>\n</body>\n</html>\n"


def style_sheet() -> str:
    """Read what stands between the page's style tags."""
    return _STYLE.read_text("utf-8")


def section(title: str, body: str) -> str:
    """Put a heading above HTML."""
    return f"<section><h2>{escape(title)}</h2>{body}</section>"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write texts as a table, the first of each row as its heading."""
    lines = [f"<tr>{''.join(f'<th>{escape(cell)}</th>' for cell in head)}</tr>"]
    for first, *rest in rows:
        lines.append(f"<tr><th>{escape(first)}</th>{''.join(f'<td>{escape(cell)}</td>' for cell in rest)}</tr>")
    return f'<div class="wide" tabindex="0"><table>{"".join(lines)}</table></div>'


def item_list(texts: Iterable[str], title: str = "") -> str:
    """Write texts as a list under a small heading; nothing where there is none."""
    items = "".join(f"<li>{escape(text)}</li>" for text in texts)
    return f"{f'<h4>{escape(title)}</h4>' if title else ''}<ul>{items}</ul>" if items else ""


def unfolding(summary: str, about: str, prose: Iterable[tuple[str, str]], *, lists: str = "") -> str:
    """Write a question that unfolds: a line about it, titled texts, then HTML lists."""
    texts = "".join(f"<h4>{title}</h4><blockquote>{escape(text[:_MOST_CHARS])}</blockquote>" for title, text in prose)
    return f"<details><summary>{escape(summary)}</summary><p>{escape(about)}</p>{texts}{lists}</details>"


def gate_list(results: Sequence[GateResult]) -> str:
    """Write every demand with what was reached, the broken ones first."""
    return item_list(map(str, sorted(results, key=lambda one: one.holds)))


def circumstances_list(told: Circumstances) -> str:
    """Write what the figures depend on."""
    flat = {name: value for name, value in told.model_dump(mode="json").items() if name not in ("settings", "corpora")}
    flat |= {f"documents of {one.tenant}": f"{one.documents} ({one.fingerprint})" for one in told.corpora}
    rows = "".join(f"<dt>{escape(k)}</dt><dd>{escape(str(v))}</dd>" for k, v in {**flat, **told.settings}.items())
    return f"<section><details><summary>What these figures depend on</summary><dl>{rows}</dl></details></section>"


def _changes(found: Comparison) -> str:
    """What moved since the earlier run, and which questions made it move."""
    moved = item_list(map(str, found.worse), "Worse") + item_list(map(str, found.better), "Better")
    body = table(("rate", "before", "after", "change, 95 % interval", ""), found.rows())
    gates = section("Gates", gate_list(found.gates)) if found.gates else ""
    return section("Since the earlier run", f"<p>{escape(found.summary)}</p>{body}{moved}") + gates


def _confidence(report: Report) -> Iterator[tuple[str, ...]]:
    for one in report.calibration.bins if report.calibration else ():
        yield f"{one.low:.1f} – {one.low + 0.1:.1f}", str(one.answers), f"{one.right:.2f}"


def _wrong(report: Report) -> Iterator[str]:
    wrong = wrong_of(report)
    yield from (_question(one) for one in wrong[:MOST])
    if wrong[MOST:]:
        yield f"<p>{len(wrong) - MOST} more stand in the JSON report.</p>"


def _question(one: Asked) -> str:
    seen = one.observation
    about = (one.key, one.asker, seen.outcome, f"confidence {seen.confidence:.2f}", f"{seen.seconds * 1000:.0f} ms")
    lists = item_list([fault.detail for fault in one.faults], "Why it is wrong")
    lists += item_list(one.question.history, "Asked before") + item_list(one.extra, "Does not belong")
    lists += item_list((f"{item.relevance:.2f} {item.url} ({item.scope})" for item in seen.evidence), "Evidence")
    lists += item_list(map(str, seen.conflicts), "Disagreements") + item_list(seen.agents, "Agents")
    return unfolding(
        one.question.question, " · ".join(about), [("Answer", seen.answer or seen.error or "–")], lists=lists
    )
