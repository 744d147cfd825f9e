"""`conclave doctor`: a check of everything."""

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated
from uuid import uuid4

import typer
from rich.console import Console

from app.cli.attack import attack
from app.cli.connecting import opened
from app.cli.output import FAILED, OK, UNAVAILABLE, AsJsonResult, print_json, run_async
from app.confinement.kernel import can_confine
from app.domain.principal import Principal, tenant_id_of
from app.errors import AppError
from app.faces.face import load_faces
from app.plugins import COMMANDS, entries_of
from app.reasoning.budget import Account, Ledger, charged_to
from app.reasoning.llm import Ladder
from app.reasoning.llm.request import CallOutcome, ModelFailed, Request
from app.reasoning.sentences import load
from app.settings import Settings
from app.storage.spool import waiting_in
from app.tools.catalogue import known_tools, plugged_in_tools

_PROBE_TOKENS = 500
"""Models that think before they speak need room for both."""


@run_async
async def doctor(
    with_questions: Annotated[
        bool, typer.Option("--model", help="Ask the model the bundled questions instead.")
    ] = False,
    attacked: Annotated[
        bool, typer.Option("--attack", help="Replay known attacks on the server here instead.")
    ] = False,
    server: Annotated[str, typer.Option(help="With --attack: on the server at this address.")] = "",
    is_own: Annotated[bool, typer.Option("--i-own-this", help="With --server: also on another machine.")] = False,
    as_json: AsJsonResult = False,
) -> int:
    """Print the settings (secrets hidden) and check that everything works."""
    if with_questions or attacked:
        return await (attack(Settings(), server, is_own, as_json) if attacked else _check_model(as_json))
    settings = Settings()
    console, checks, problem = Console(), dict[str, bool](), ""
    turned_off: dict[str, tuple[str, ...]] = {}
    try:
        async with opened(settings, Console(stderr=True)) as services:
            checks = dict(await services.rooms.readiness())
            checks["confinement of untrusted work"] = can_confine()
            checks["agents"] = bool(services.rooms.agents.names)
            turned_off = services.rooms.agents.turned_off
            asker = Principal.without_rights(tenant_id_of("doctor"), tenant_id_of("doctor"))
            for model, outcome in (await probe(services.ladder, asker)).items():
                checks[f"language model {model}: {outcome}"] = outcome == CallOutcome.DONE
    except AppError as error:
        problem = f"{error.code.value}: {error.detail}"
    shown = {name: _without_password(value) for name, value in settings.model_dump(mode="json").items()}
    waiting = waiting_in(settings.spool_dir)
    faces, tools = load_faces(), plugged_in_tools()
    if as_json:
        mounted = {"mounted": list(faces.found), "missing": dict(faces.missing)}
        told = {"settings": shown, "checks": checks, "faces": mounted, "spool": waiting._asdict()}
        told["tools"] = {"turned_off": turned_off, "missing": dict(tools.missing)}
        print_json(console, told | {"problem": problem or None})
    else:
        for name, value in shown.items():
            console.print(f"CONCLAVE_{name.upper()}={value}", highlight=False, markup=False)
        console.print(f"spool: {waiting.runs} tasks, {waiting.entries} entries waiting", highlight=False)
        console.print(f"faces: {', '.join(faces.found)}", highlight=False)
        for line in _left_out(faces.missing, tools.missing, turned_off):
            console.print(line, highlight=False, markup=False)
        for name, ok in checks.items():
            console.print(f"{'[green]ok[/]' if ok else '[red]failed[/]'}  {name}")
        if problem:
            console.print(f"[red]failed[/]  {problem}", highlight=False)
    if problem:
        return UNAVAILABLE
    return OK if all(checks.values()) else FAILED


async def _check_model(as_json: bool) -> int:
    """Ask the model the bundled questions; the exit code of that."""
    plugin = next(one for one in entries_of(COMMANDS) if one.name == "doctor.model")
    return int(await plugin.load()(as_json))


def _left_out(
    faces: Mapping[str, str], tools: Mapping[str, str], turned_off: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    """What this installation does without, and why, a line each."""
    for name, reason in faces.items():
        yield f"face {name} is not mounted: {reason}"
    for name, reason in tools.items():
        yield f"tool plug-in {name} is left out: {reason}"
    for tool, agents in turned_off.items():
        why = "by the settings" if tool in known_tools() else "its extra is not installed"
        yield f"{tool} is turned off: {why}; agents that name it: {', '.join(agents)}"


def _without_password(value: object) -> object:
    return re.sub(r"(://[^:@/]*):[^@]*@", r"\1:**********@", value) if isinstance(value, str) else value


async def probe(ladder: Ladder, principal: Principal) -> dict[str, str]:
    """Ask every model for one word, unpaid; how each call ended (``done`` is well)."""
    request = Request([{"role": "user", "content": load("probe", "en").text}], _PROBE_TOKENS)
    ended = {}
    for rung in ladder.rungs:
        deadline = asyncio.get_running_loop().time() + rung.endpoint.limits.call
        with charged_to(Account(principal, uuid4(), deadline, Ledger())):
            try:
                await Ladder([rung]).text("probe", request)
            except ModelFailed as failure:
                ended[rung.endpoint.model] = failure.outcome.value
            else:
                ended[rung.endpoint.model] = CallOutcome.DONE.value
    return ended
