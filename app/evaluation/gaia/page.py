"""The GAIA report as one HTML page in the style of the other reports: it needs nothing else and runs nothing."""

from collections.abc import Sequence
from html import escape

from app.evaluation.gaia.report import GaiaAnswer, GaiaGroup, GaiaReport
from app.evaluation.page import html_page
from app.evaluation.page.figures import lines, many, tile, waited
from app.evaluation.page.svg import bar, histogram
from app.evaluation.report import Score

_KINDS = {"level": "By level", "kind": "By kind", "language": "By language", "tag": "By tag"}
_LANGUAGES = {"vi": "Vietnamese", "en": "English"}
_MOST_CHARS = 4_000


def gaia_page(report: GaiaReport) -> str:
    """The whole page. Reads its style sheet."""
    parts = [
        _heading(report), _tiles(report), _groups(report), _waits(report), _questions(report), _circumstances(report),
    ]  # fmt: skip
    return html_page(f"{report.dataset.name}, {report.made_at:%Y-%m-%d %H:%M}", parts)


def _heading(report: GaiaReport) -> str:
    count = many(len(report.answers), "question", "questions")
    lead = f"{count} of {escape(report.dataset.name)}, {escape(report.mode)} flow"
    when = f'<time datetime="{report.made_at.isoformat()}">{report.made_at:%d %B %Y, %H:%M} UTC</time>'
    return f"<header><h1>Deep questions</h1><p>{lead} · {when}</p></header>"


def _tiles(report: GaiaReport) -> str:
    score = report.score
    right = ("–", "no right answer is known") if score is None else (f"{score.value:.0%}", _ends(score))
    spent = report.spent
    tokens = f"{spent.tokens_per_question:.0f} a question" if spent.tokens else "no language model was asked"
    shown = [
        tile("right", *right),
        tile("median steps", f"{report.median_steps:g}", f"median {report.median_tool_calls:g} tool calls"),
        tile("median wait", waited(spent.median_seconds), f"p95 {waited(spent.p95_seconds)}"),
        tile("tokens", str(spent.tokens), tokens),
    ]
    return f'<section class="tiles" aria-label="Summary">{"".join(shown)}</section>'


def _groups(report: GaiaReport) -> str:
    parts = []
    for kind, title in _KINDS.items():
        members = [group for group in report.groups if group.kind == kind]
        if members:
            rows = "".join(f"<li>{_group(group)}</li>" for group in members)
            is_open = "" if kind == "tag" else " open"
            parts.append(f'<details{is_open}><summary>{title}</summary><ul class="rates">{rows}</ul></details>')
    return f"<section><h2>Groups</h2>{''.join(parts)}</section>" if parts else ""


def _group(group: GaiaGroup) -> str:
    name = {"level": f"Level {group.name}", "language": _LANGUAGES.get(group.name, group.name)}.get(
        group.kind, group.name
    )
    told = f"{group.right} of {group.score.questions} · median {group.median_steps:g} steps"
    score = group.score
    drawn = bar(score.value, score.low, score.high, title=f"{name}: {score.value:.2f}")
    value = f'<span class="value"><b>{score.value:.0%}</b><small>{_ends(score)}</small></span>'
    return f'<span class="name">{escape(name)}<small>{told}</small></span>{drawn}{value}'


def _waits(report: GaiaReport) -> str:
    seconds = [one.seconds for one in report.answers]
    spent = report.spent
    plot = histogram(seconds, [("median", spent.median_seconds), ("p95", spent.p95_seconds)])
    told = f"From asking to the answer's end; the whole run took {waited(spent.total_seconds)}."
    return (
        f'<section class="plots"><figure><h2>Waiting times</h2>{plot}<figcaption>{told}</figcaption></figure></section>'
    )


def _questions(report: GaiaReport) -> str:
    ordered = sorted(report.answers, key=lambda one: (one.right is not False, not one.error))
    listed = "".join(_question(one) for one in ordered)
    hint = "<p class='hint'>Wrong answers first; each opens with its reasoning trace and the visits of its flow.</p>"
    return f'<section class="wrong"><h2>Questions <small>{len(ordered)}</small></h2>{hint}{listed}</section>'


def _question(one: GaiaAnswer) -> str:
    verdict = {True: "right", False: "wrong", None: "not scored"}[one.right]
    tone = " outcome" if one.right is False else ""
    badges = f'<i class="badge{tone}">{verdict}</i><i class="badge">level {one.level}</i>'
    summary = f"<summary><span>{escape(one.question)}</span><span class='badges'>{badges}</span></summary>"
    about = [one.task_id, one.asker, one.outcome, many(one.steps, "step", "steps")]
    about += [many(one.tool_calls, "tool call", "tool calls"), waited(one.seconds), one.file_name]
    parts = [
        f"<p class='hint'>{escape(' · '.join(filter(None, about)))}</p>",
        _prose("Answer", one.answer or one.error or "–"),
        _prose("Expected", one.expected),
        _prose("Reasoning", one.reasoning) if one.reasoning else "",
        f"<h4>Flow</h4><ul>{''.join(lines(one.trace))}</ul>" if one.trace else "",
    ]
    return f"<details>{summary}<div class='trace'>{''.join(parts)}</div></details>"


def _circumstances(report: GaiaReport) -> str:
    told = report.circumstances
    rows: Sequence[tuple[str, str]] = [
        ("version", f"{told.version} ({told.code})"), ("mind", told.mind), ("vectors", told.space),
        ("day asked", told.today), ("questions at a time", str(told.concurrency)),
        ("questions", f"{report.dataset.questions} ({report.dataset.fingerprint})"),
        *((name, str(value)) for name, value in sorted(told.settings.items())),
    ]  # fmt: skip
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in rows)
    return f"<section><details><summary>What these figures depend on</summary><dl>{listed}</dl></details></section>"


def _ends(score: Score) -> str:
    return f"{score.low:.0%}–{score.high:.0%} · n {score.questions}"


def _prose(title: str, text: str) -> str:
    cut = text if len(text) <= _MOST_CHARS else f"{text[:_MOST_CHARS]} …"
    return f"<h4>{title}</h4><blockquote>{escape(cut)}</blockquote>"
