"""A run in the terminal: the plan with its progress while it runs, then the answer with all it rests on."""

from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.markdown import Markdown
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from app.cli.output import text
from app.domain.plan import Plan
from app.text.language import clean

_TOLD = {"current_task": "in_progress", "completed_task": "completed", "failed_task": "failed"}
"""What a progress object is about, and how that step stands."""
_MARKS = {"pending": ("○", "dim"), "in_progress": ("◐", "cyan"), "completed": ("●", "green"), "failed": ("✗", "red")}
_OUTCOME_STYLES = {"answered": "green", "chitchat": "green", "failed": "red", "refused": "red", "cancelled": "red"}

_WHY = {"later_version": " (later version)", "validity": " (no longer in force)", "verdict": " (people decided so)"}
_WHY |= {"starts_later": " (not yet in force)"}
"""What decided between sources when it was not their scores."""


class RunView:
    """What a run's events add up to so far."""

    def __init__(self, query: str):
        self.query = query
        self.task_id = ""
        self.percentage = 5.0
        self.message = "…"
        self.plan: Plan | None = None
        self.statuses: dict[str, str] = {}
        self.text = ""
        self.conflicts: list[dict[str, Any]] = []

    def take(self, kind: str, event: Mapping[str, Any]) -> None:
        """Add one event, its type and its JSON data."""
        match kind:
            case "task_available":
                self.task_id = str(event["task_id"])
            case "plan_ready":
                self.plan = Plan.model_validate(event["plan"])
                self.statuses = {step.node_id: step.step.status for step in self.plan.steps}
            case "progress":
                self.percentage = float(event["output"].get("progress_percentage", self.percentage))
                self.message = str(event["output"].get("progress_message", ""))
                self._follow(event["output"])
            case "agent_task":
                self.statuses[str(event["node_id"])] = "in_progress"
            case "agent_result":
                self.statuses[str(event["node_id"])] = str(event["status"])
            case "text_delta":
                self.text += str(event["text"])
            case "redispatched":
                self.text = ""
            case "conflict_resolved":
                self.conflicts = list(event["conflicts"])
            case _:
                pass

    def _follow(self, output: Mapping[str, Any]) -> None:
        """Mark the planned step that a progress object is about, where no tool call of its own tells it."""
        for field, status in _TOLD.items():
            told = output.get(field)
            if self.plan is None or not isinstance(told, dict):
                continue
            for step in self.plan.steps:
                if (step.step.agent, step.step.tool, step.step.label) == (
                    told["agent"], told["tool"], told["purpose"],
                ):  # fmt: skip
                    self.statuses[step.node_id] = status

    def __rich__(self) -> RenderableType:
        bar = Table.grid(padding=(0, 1))
        bar.add_row(
            ProgressBar(total=100, completed=self.percentage, width=24), f"{self.percentage:.0f} %", text(self.message)
        )
        return Group(bar, *([self.plan_table()] if self.plan else []), text(self.text, "dim"))

    def plan_table(self) -> Table:
        """The plan, one row a step."""
        table = Table.grid(padding=(0, 2))
        for step in self.plan.steps if self.plan else ():
            mark, style = _MARKS.get(self.statuses.get(step.node_id, "pending"), ("?", ""))
            table.add_row(
                text(f"tier {step.tier}", "dim"),
                text(mark, style),
                text(step.step.agent, "bold"),
                text(step.step.tool),
                text(step.step.label),
            )
        return table


def show_answer(console: Console, answer: Mapping[str, Any], view: RunView) -> None:
    """Print the final answer of §5, or the error answer of §6."""
    if view.plan is not None:
        console.print(Panel(view.plan_table(), title="Plan", title_align="left", border_style="dim"))
    if answer.get("error"):
        _show_failure(console, answer)
    else:
        _show_success(console, answer, view.conflicts)
    _show_flow(console, answer.get("flow_action", ()))
    for note in answer.get("execution_metadata", {}).get("degraded", ()):
        console.print(text(f"  ↓ {note}", "yellow"))
    for question in answer.get("follow_up_questions", ()):
        console.print(text(f"  → {question}", "cyan"))
    console.print(_closing_line(answer))


def _show_success(console: Console, answer: Mapping[str, Any], conflicts: Iterable[Mapping[str, Any]]) -> None:
    console.print(Panel(_prose(answer["answer"]), title="Answer", title_align="left", border_style="green"))
    evidence = answer.get("evidence", ())
    if evidence:
        table = Table(title="Evidence", title_justify="left", box=None, header_style="dim")
        for column in ("#", "source", "scope", "date", "relevance"):
            table.add_column(column, overflow="fold", justify="right" if column == "relevance" else "left")
        for number, item in enumerate(evidence, 1):
            cells = (str(number), item["url"], item["scope"], str(item["created_at"])[:10])
            table.add_row(*map(text, cells), f"{item['relevance_score']:.2f}")
        console.print(table)
    for conflict in conflicts:
        console.print(_conflict_line(conflict))
    if answer.get("reasoning"):
        console.print(text(answer["reasoning"], "italic"))


def _conflict_line(conflict: Mapping[str, Any]) -> Text:
    """Both sides with their scores: `⚖ Notice (3 days · 0.90) over Policy (2 days · 0.80)`, and what decided if it was
    not the scores."""
    winner, loser = (_side(conflict[name]) for name in ("winner", "loser"))
    verb = "over" if conflict["decided"] else "against (undecided)"
    why = _WHY.get(conflict.get("rule", ""), "")
    return text(f"⚖ {winner} {verb} {loser}{why}", "yellow")


def _side(side: Mapping[str, Any]) -> str:
    """A version that lacks the rule the other one has says nothing."""
    told = [side["claim"], f"{side['score']:.2f}"]
    return f"{side['title']} ({' · '.join(filter(None, told))})"


def _show_failure(console: Console, answer: Mapping[str, Any]) -> None:
    told = f"{answer.get('error_message', '')} ({answer.get('error_code', '')})"
    console.print(Panel(text(told), title="Failed", title_align="left", border_style="red"))
    for agent, result in answer.get("partial_results", {}).items():
        said = result.get("answer") or result.get("error") or ""
        console.print(text(f"  {agent}: {result.get('status')} {said}"))
    if answer.get("fallback_answer"):
        console.print(Panel(_prose(answer["fallback_answer"]), title="What is known", title_align="left"))


def _show_flow(console: Console, actions: Iterable[Mapping[str, Any]]) -> None:
    table = Table(title="Flow", title_justify="left", box=None, header_style="dim")
    for column in ("#", "node", "tool", "status", "ms"):
        table.add_column(column, justify="right" if column == "ms" else "left")
    for action in actions:
        duration = action.get("duration_ms")
        cells = (str(action["order"]), action["node_id"], action.get("tool") or "", action["status"])
        table.add_row(*map(text, cells), "" if duration is None else str(duration))
    if table.row_count:
        console.print(table)


def _closing_line(answer: Mapping[str, Any]) -> Text:
    outcome = str(answer.get("outcome", "failed"))
    line = Text(outcome, style=f"bold {_OUTCOME_STYLES.get(outcome, 'yellow')}")
    if "confidence_score" in answer:
        line.append(f" · confidence {answer['confidence_score']:.2f}", style="")
    return line.append(f" · session {answer.get('session_id')} · task {answer.get('task_id')}", style="dim")


def _prose(written: object) -> Markdown:
    """An answer's own bold words and lists; links stay as they are written."""
    return Markdown(clean(str(written)), hyperlinks=False)
