"""A check of a model: the bundled seen questions, asked over a database of their own, and what came of them."""

from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import date
from typing import Any
from uuid import UUID

from pydantic import SecretStr
from rich.console import Console

from app.cli.connecting import opened
from app.cli.evaluation import BLIND_FOLDER
from app.cli.evaluation.local_app import LocalApp
from app.cli.output import DocumentBar, print_json, print_table, text
from app.domain.principal import Principal
from app.errors import AppError, ErrorCode
from app.evaluation.dataset import Dataset, open_dataset, read_dataset
from app.evaluation.figures import percentile
from app.evaluation.report import Asked
from app.evaluation.running import Evaluation
from app.events import Event, FinalReport, TaskFailed
from app.main.services import now
from app.models.serving import LocalModel, check_installed
from app.reasoning.budget import Spent
from app.settings import Settings
from app.text.language import guess_language
from extras.fitness.figures import Fitness

_ROOMY: dict[str, object] = {
    "llm_first_token_seconds": 120.0, "llm_between_tokens_seconds": 60.0, "llm_call_seconds": 240.0,
    "task_deadline_ms": 300_000, "timeout_per_agent_ms": 300_000, "task_token_budget": 0, "task_call_budget": 0,
    "user_tokens_per_day": 0, "tenant_tokens_per_day": 0, "enable_caching": False, "web_allowed_hosts": frozenset(),
    "agents_dir": None, "remote_agents": frozenset(), "mcp_servers": None, "serve_address": "",
    **{name: SecretStr("") for name in ("database_url", "database_owner_url", "database_operator_url", "bus_url")},
}  # fmt: skip
"""Patience, since a check finds out how long a model takes, but not without end; no document of the operator's."""


@asynccontextmanager
async def served(settings: Settings, model: LocalModel) -> AsyncIterator[Settings]:
    """Serve a model, and give settings that ask it and no other. Raises `AppError` where it does not start."""
    check_installed()
    at = {"llm_model": model.name, "llm_small_model": "", **profile_of(settings)}
    async with model.running(lambda address, key: at.update(llm_base_url=address, llm_api_key=SecretStr(key))):
        await model.settled()
        if model.state == "failed":
            raise AppError(ErrorCode.LLM_UNAVAILABLE, f"llama.cpp cannot serve {model.name}.", status=503)
        yield settings.model_copy(update=at)


def profile_of(settings: Settings) -> dict[str, object]:
    """The profile a model of this machine is asked in, as the service does it: the small one unless another was set."""
    return {} if "llm_profile" in settings.model_fields_set else {"llm_profile": "small"}


class _Heard(LocalApp):
    """Keeps the answer of every question, by its asker, in the order they were asked."""

    async def ask(
        self, principal: Principal, session_id: UUID | None, query: str, as_of: date | None
    ) -> AsyncIterator[Event]:
        """See `House`."""
        self.answers[principal.user_id] = {}
        async for event in super().ask(principal, session_id, query, as_of):
            if isinstance(event, FinalReport | TaskFailed):
                self.answers[principal.user_id] = event.answer
            yield event

    answers: dict[UUID, Mapping[str, Any]]


async def examine(settings: Settings, most: int) -> Fitness:
    """Ask the model of the settings at most so many questions, one after the other. Raises `AppError`."""
    own = settings.model_copy(update={**_ROOMY, "data_dir": settings.data_dir / "models" / "check"})
    progress, calls = Console(stderr=True), list[Spent]()
    async with opened(own, progress, work=True) as services:
        vars(services.rooms.metrics)["observe_call"] = calls.append
        house = _Heard(services)
        house.answers = {}
        with DocumentBar(progress, "asking") as bar:
            async with Evaluation(house, questions_of(most)) as evaluation:
                await evaluation.prepare(lambda _done, _of, _what: None)
                asked = await evaluation.run(1, bar)
    return fitness_of(settings.llm_model, asked, list(house.answers.values()), calls)


def questions_of(most: int) -> list[Dataset]:
    """At most so many of the seen questions, spread evenly over the sets."""
    sets = [read_dataset(BLIND_FOLDER / "demo" / "seen.jsonl", "seen"), open_dataset("smoke")]
    cases = [(one.name, case) for one in sets for case in one.cases]
    chosen = [cases[place * len(cases) // most] for place in range(most)] if most < len(cases) else cases
    found = [Dataset(one.name, tuple(case for name, case in chosen if name == one.name)) for one in sets]
    return [one for one in found if one.cases]


def fitness_of(
    model: str, asked: Sequence[Asked], answers: Sequence[Mapping[str, Any]], calls: Sequence[Spent]
) -> Fitness:
    """Sum up what a model did; `answers` in the order of `asked`, `calls` of all of them."""
    told = [answer.get("execution_metadata") or {} for answer in answers]
    left = [bool(one.get("degraded")) or not answer.get("answer") for one, answer in zip(told, answers, strict=True)]
    by_itself = [not lost and bool(one.get("model_usage")) for lost, one in zip(left, told, strict=True)]
    failures = Counter(str(word).partition(", ")[0] for one in told for word in one.get("degraded") or ())
    kinds = [str(one["kind"]) for answer in answers for one in answer.get("support") or ()]
    plans = [call for call in calls if call.purpose == "plan" and call.outcome == "done"]
    written, worked = sum(call.completion_tokens for call in calls), sum(call.duration_ms for call in calls) / 1000
    waits, whole = [one.observation.seconds for one in asked], max(len(asked), 1)
    strange = [bool(one.observation.answer) and guess_language(one.observation.answer) != one.language for one in asked]
    return Fitness(
        model=model, made_at=now(), questions=len(asked), failures=dict(failures),
        right=sum(one.right and own for one, own in zip(asked, by_itself, strict=True)) / whole,
        wrong_answered=sum(one.grade == "wrong_answered" for one in asked) / whole,
        refused=sum(one.grade in ("wrongly_refused", "rightly_refused") for one in asked) / whole,
        wrongly_refused=sum(one.grade == "wrongly_refused" for one in asked) / whole,
        left_to_rules=sum(left) / whole, unsupported=kinds.count("unsupported") / max(len(kinds), 1),
        other_language=sum(strange) / whole, plan_repairs=max(len(plans) - sum(by_itself), 0),
        prompt_tokens=sum(call.prompt_tokens for call in calls), completion_tokens=written,
        tokens_per_second=round(written / worked, 2) if worked else 0.0,
        median_seconds=percentile(waits, 0.5) or 0.0, p95_seconds=percentile(waits, 0.95) or 0.0,
        slowest_call_seconds=max((call.duration_ms for call in calls), default=0) / 1000,
    )  # fmt: skip


def show_fitness(found: Fitness, as_json: bool) -> None:
    """Print a check, as a JSON line or a table, the reasons against the model, and settings that suit it."""
    if as_json:
        print_json(Console(), found.model_dump(mode="json"))
        return
    rows = [
        (name.replace("_", " "), f"{value:.2f}" if isinstance(value, float) else str(value)) for name, value in found
    ]
    print_table(Console(), ("figure", ""), rows)
    for reason in found.below_floor:
        Console().print(text(f"below the floor: {reason}", "red"))
    for name, value in found.settings.items():
        Console().print(f"{name}={value}", highlight=False, markup=False)
