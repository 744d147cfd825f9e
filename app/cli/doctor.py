"""`conclave doctor`: a check of everything."""

import re

from rich.console import Console

from app.cli.output import FAILED, OK, UNAVAILABLE, AsJsonResult, finish, opened, print_json
from app.domain.principal import GENERAL, Principal, tenant_id_of
from app.errors import AppError
from app.main.models import probe
from app.reasoning.llm.outcomes import CallOutcome
from app.settings import Settings
from app.storage.spool import waiting_in


def doctor(as_json: AsJsonResult = False) -> None:
    """Print the settings (secrets hidden) and check that everything works."""
    finish(_doctor(Settings(), as_json))


async def _doctor(settings: Settings, as_json: bool) -> int:
    """Print the settings, open everything and report each check. 3 when the service cannot be opened."""
    console, checks, problem = Console(), dict[str, bool](), ""
    try:
        async with opened(settings, Console(stderr=True)) as services:
            checks = dict(await services.rooms.readiness())
            checks["agents"] = bool(services.rooms.agents.names)
            asker = Principal(
                tenant_id=tenant_id_of("doctor"),
                user_id=tenant_id_of("doctor"),
                department=GENERAL,
                departments=frozenset({GENERAL}),
                scopes=frozenset(),
            )
            for model, outcome in (await probe(services.ladder, asker)).items():
                checks[f"language model {model}: {outcome}"] = outcome == CallOutcome.DONE
    except AppError as error:
        problem = f"{error.code.value}: {error.detail}"
    shown = {name: _without_password(value) for name, value in settings.model_dump(mode="json").items()}
    waiting = waiting_in(settings.spool_dir)
    if as_json:
        told = {"settings": shown, "checks": checks, "spool": waiting._asdict(), "problem": problem or None}
        print_json(console, told)
    else:
        for name, value in shown.items():
            console.print(f"CONCLAVE_{name.upper()}={value}", highlight=False, markup=False)
        console.print(f"spool: {waiting.runs} tasks, {waiting.entries} entries waiting", highlight=False)
        for name, ok in checks.items():
            console.print(f"{'[green]ok[/]' if ok else '[red]failed[/]'}  {name}")
        if problem:
            console.print(f"[red]failed[/]  {problem}", highlight=False)
    if problem:
        return UNAVAILABLE
    return OK if all(checks.values()) else FAILED


def _without_password(value: object) -> object:
    return re.sub(r"(://[^:@/]*):[^@]*@", r"\1:**********@", value) if isinstance(value, str) else value
