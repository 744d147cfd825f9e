"""The page's figures: heading, tiles, gates, rates with intervals, plots, outcomes, groups, circumstances."""

from collections.abc import Iterator, Sequence
from html import escape

from app.evaluation.measures import BY_NAME, LEADING, METRICS
from app.evaluation.page.svg import bar, histogram, reliability_diagram
from app.evaluation.report import GateResult, Group, OutcomeScore, Report, Score

_TILES = ("right", "wrong_answered", "facts", "recall", "not_found_f1", "conflict_f1", "winner")
_KINDS = {"dataset": "By dataset", "language": "By language", "department": "By department", "tag": "By tag"}
_COUNTS = ("leaks", "tokens_per_question")
"""Gates on figures that are no rates."""
_FEW = 8
"""More groups of a kind are folded away at first."""
_LANGUAGES = {"vi": "Vietnamese", "en": "English"}


def heading(report: Report) -> str:
    """What was asked, when, and whether it is well."""
    broken = sum(1 for gate in report.gates if not gate.holds)
    if not report.gates:
        state = '<p class="state">No gates were set.</p>'
    elif broken:
        state = f'<p class="state bad">✗ {many(broken, "gate is", "gates are")} broken</p>'
    else:
        state = f'<p class="state good">✓ {many(len(report.gates), "gate holds", "gates hold")}</p>'
    sets = ", ".join(escape(one.name) for one in report.datasets)
    lead = f"{many(report.questions, 'question', 'questions')} from {sets}"
    when = f'<time datetime="{report.made_at.isoformat()}">{report.made_at:%d %B %Y, %H:%M} UTC</time>'
    return f"<header><h1>Evaluation</h1><p>{lead} · {when}</p>{state}</header>"


def tiles(report: Report) -> str:
    """The figures to see first."""
    shown = [
        tile(BY_NAME[name].title, f"{score.value:.0%}", f"{score.low:.0%}–{score.high:.0%}")
        for name in _TILES
        if (score := report.scores.get(name))
    ]
    leaks = report.leak_count
    shown.append(tile("leaks", str(leaks), "must be 0", "bad" if leaks else "good"))
    p95 = f"p95 {waited(report.spent.p95_seconds)}"
    shown.append(tile("median wait", waited(report.spent.median_seconds), p95))
    return f'<section class="tiles" aria-label="Summary">{"".join(shown)}</section>'


def gates(results: Sequence[GateResult]) -> str:
    """Every threshold with what was reached."""
    if not results:
        return ""
    rows = "".join(f"<li>{_gate(one)}</li>" for one in sorted(results, key=lambda one: one.holds))
    return f'<section><h2>Gates</h2><ul class="gates">{rows}</ul></section>'


def rates(report: Report) -> str:
    """Every rate as a bar with its interval."""
    rows = []
    for metric in METRICS:
        score = report.scores.get(metric.name)
        if score:
            label = f'<span class="name">{escape(metric.title)}<small>{escape(metric.meaning)}</small></span>'
            rows.append(f"<li>{label}{_bar(metric.title, score, metric.better)}{_value(score)}</li>")
    hint = "<p class='hint'>The whisker is the 95 % bootstrap interval over questions.</p>"
    return f'<section><h2>Rates</h2>{hint}<ul class="rates">{"".join(rows)}</ul></section>'


def plots(report: Report) -> str:
    """Reliability and waiting times, side by side where there is room."""
    drawn = []
    if found := report.calibration:
        told = f"Expected calibration error {found.error:.3f} over {many(found.answers, 'answer', 'answers')}."
        drawn.append(_figure("Confidence against truth", reliability_diagram(found.bins), told))
    seconds = [one.observation.seconds for one in report.asked]
    if seconds:
        marks = (("median", report.spent.median_seconds), ("p95", report.spent.p95_seconds))
        told = f"{_tokens(report)} The longest 1 % stand in the last bar."
        drawn.append(_figure("Waiting time", histogram(seconds, marks), told))
    return f'<section class="plots">{"".join(drawn)}</section>' if drawn else ""


def outcomes(report: Report) -> str:
    """How well each outcome is told."""
    if not report.outcomes:
        return ""
    head = "<tr><th>outcome</th><th>due</th><th>said</th><th>precision</th><th>recall</th><th>F1</th></tr>"
    rows = "".join(_outcome(one) for one in report.outcomes)
    hint = "<p class='hint'>Against the first outcome of each question; “right” also lets its other ones pass.</p>"
    return f'<section><h2>Outcomes</h2>{hint}<div class="wide"><table>{head}{rows}</table></div></section>'


def groups(report: Report) -> str:
    """The leading rates of every group."""
    parts = []
    for kind, title in _KINDS.items():
        members = [group for group in report.groups if group.kind == kind]
        if members:
            rows = "".join(_group(group) for group in members)
            is_open = " open" if len(members) <= _FEW else ""
            parts.append(f"<details{is_open}><summary>{title}</summary>{rows}</details>")
    return f'<section class="groups"><h2>Groups</h2>{"".join(parts)}</section>' if parts else ""


def circumstances(report: Report) -> str:
    """What the figures depend on."""
    told = report.circumstances
    rows = [
        ("version", f"{told.version} ({told.code})"), ("mind", told.mind), ("vectors", told.space),
        ("day asked", told.today), ("questions at a time", str(told.concurrency)), ("interval seed", str(report.seed)),
        *((f"dataset {one.name}", f"{many(one.questions, 'question', 'questions')} ({one.fingerprint})")
          for one in report.datasets),
        *((f"documents of {one.tenant}", f"{one.documents} ({one.fingerprint})") for one in told.corpora),
        *((name, str(value)) for name, value in sorted(told.settings.items())),
    ]  # fmt: skip
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in rows)
    return f"<section><details><summary>What these figures depend on</summary><dl>{listed}</dl></details></section>"


def tile(name: str, value: str, below: str, tone: str = "") -> str:
    """A figure to see first; `value` is HTML."""
    return f'<div class="tile {tone}"><span>{escape(name)}</span><b>{value}</b><small>{escape(below)}</small></div>'


def _gate(one: GateResult) -> str:
    metric = BY_NAME.get(one.metric)
    name = escape(metric.title if metric else one.metric.replace("_", " "))
    where = f" <small>{escape(one.where)}</small>" if one.where else ""
    digits = 0 if one.metric in _COUNTS else 3
    value = "not asked" if one.value is None else f"{one.value:.{digits}f}"
    mark = '<i class="good">✓</i>' if one.holds else '<i class="bad">✗</i>'
    return f"{mark}<span>{name}{where}</span><b>{value}</b><small>{escape(one.demand)}</small>"


def _bar(title: str, score: Score, better: str = "higher") -> str:
    told = f"{title}: {score.value:.3f}, 95 % interval {score.low:.3f} to {score.high:.3f}"
    return bar(score.value, score.low, score.high, title=told, is_low=better == "lower")


def _value(score: Score) -> str:
    ends = f"{score.low:.2f}–{score.high:.2f} · n {score.questions}"
    return f'<span class="value"><b>{score.value:.3f}</b><small>{ends}</small></span>'


def _figure(title: str, plot: str, told: str) -> str:
    return f"<figure><h2>{escape(title)}</h2>{plot}<figcaption>{escape(told)}</figcaption></figure>"


def _outcome(one: OutcomeScore) -> str:
    cells = "".join(_cell(value) for value in (one.precision, one.recall, one.f1))
    return f"<tr><th>{escape(one.outcome)}</th><td>{one.due}</td><td>{one.said}</td>{cells}</tr>"


def _cell(value: float | None) -> str:
    return "<td>–</td>" if value is None else f"<td>{value:.2f}</td>"


def _group(group: Group) -> str:
    name = _LANGUAGES.get(group.name, group.name) if group.kind == "language" else group.name.replace("_", " ")
    cells = "".join(_leading(metric, group) for metric in LEADING)
    return f'<div class="group"><h3>{escape(name)} <small>{group.questions}</small></h3>{cells}</div>'


def _leading(metric: str, group: Group) -> str:
    score, title = group.scores.get(metric), BY_NAME[metric].title
    if score is None:
        return f'<div class="lead"><span>{escape(title)}</span><b>–</b></div>'
    drawn = _bar(f"{group.name}, {title}", score)
    return f'<div class="lead"><span>{escape(title)}</span><b>{score.value:.2f}</b>{drawn}</div>'


def _tokens(report: Report) -> str:
    if not report.spent.tokens:
        return "No language model was asked."
    return f"{report.spent.tokens_per_question:.0f} tokens of language models a question."


def waited(seconds: float) -> str:
    """A waiting time, short."""
    return f"{seconds * 1000:.0f} ms" if seconds < 10 else f"{seconds:.1f} s"


def many(number: int, one: str, more: str) -> str:
    """A number of things."""
    return f"{number} {one if number == 1 else more}"


def lines(texts: Sequence[str]) -> Iterator[str]:
    """Each text as an item of a list."""
    yield from (f"<li>{escape(text)}</li>" for text in texts)
