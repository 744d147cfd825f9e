"""`conclave model check` and `conclave doctor --model`."""

from typing import Annotated

import typer

from app.cli.output import FAILED, OK, AsJson, run_async
from app.errors import AppError, ErrorCode
from app.models.serving import LocalModel, model_of
from app.models.store import ModelStore
from app.settings import Settings
from extras.fitness.figures import Fitness

Questions = Annotated[int, typer.Option(min=1, max=60, help="At most so many.")]
_MOST = 60


@run_async
async def check(
    name: Annotated[str, typer.Argument(help="As `conclave model list` names it.")],
    questions: Questions = _MOST,
    as_json: AsJson = False,
) -> int:
    """Ask a model the bundled questions and say what it is fit for; exit code 1 when it is below the floor."""
    settings = Settings()
    store = ModelStore(settings.data_dir)
    found = await _asked(settings, LocalModel(store, store.find(name)), questions, as_json)
    store.note_check(name, found.model_dump_json(indent=1))
    return FAILED if found.below_floor else OK


async def check_configured(as_json: bool) -> int:
    """Check the model that answers questions here; the exit code. Raises `AppError` where none is configured."""
    settings = Settings()
    local = None if settings.has_model or not settings.local_models else model_of(settings.data_dir)
    if local is None and not settings.has_model:
        detail = (
            "No model is configured: set CONCLAVE_LLM_BASE_URL and CONCLAVE_LLM_MODEL, or `conclave model use` one."
        )
        raise AppError(ErrorCode.VALIDATION_FAILED, detail)
    found = await _asked(settings, local, _MOST, as_json)
    return FAILED if found.below_floor else OK


async def _asked(settings: Settings, model: LocalModel | None, questions: int, as_json: bool) -> Fitness:
    """Ask and print; a model of this machine is served for it."""
    # Only here: asking takes all of the service to import, and the other commands of `conclave model` none of it.
    from extras.fitness.asking import examine, served, show_fitness  # noqa: PLC0415

    if model is None:
        found = await examine(settings, questions)
    else:
        async with served(settings, model) as own:
            found = await examine(own, questions)
    show_fitness(found, as_json)
    return found
