"""`conclave model`: models of this machine, in the data directory."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TransferSpeedColumn

from app.cli.output import AsJson, print_json, print_rows, text
from app.errors import AppError, ErrorCode
from app.models.catalogue import Entry, Role, checked_role, entry_named, read_catalogue
from app.models.download import Downloader, has_its_hash
from app.models.serving import check_installed
from app.models.store import ModelStore, Pulled
from app.plugins import COMMANDS, entries_of
from app.settings import Settings

model_commands = typer.Typer(no_args_is_help=True, help="Models of this machine: pull, use and check them.")
Name = Annotated[str, typer.Argument(help="Of the catalogue, or hf:OWNER/REPO/FILE[@REVISION] or ollama:NAME[:TAG].")]
SERVED: tuple[Role, ...] = ("chat",)
"""Roles a pulled model can serve so far."""


@model_commands.command("list")
def list_models(as_json: AsJson = False) -> None:
    """List the catalogue and what is here. Asks no other machine."""
    store = ModelStore(Settings().data_dir)
    here, roles = store.pulled(), {name: role for role, name in store.roles().items()}
    known = read_catalogue().models | {name: one.entry for name, one in here.items()}
    rows = [_row(store, entry, here.get(name), roles.get(name, "")) for name, entry in known.items()]
    print_rows(rows if as_json else [{**row, "languages": " ".join(row["languages"])} for row in rows], as_json)
    if not as_json:
        Console(stderr=True).print("Models of the roles embed and rerank can be pulled; nothing serves them yet.")


def _row(store: ModelStore, entry: Entry, here: Pulled | None, role: str) -> dict[str, Any]:
    size = here.size if here else entry.size
    return {
        "name": entry.name, "role": entry.role, "state": f"serves {role}" if role else "here" if here else "not here",
        "pinned": bool(store.pin_of(entry)), "mb": round(size / 1e6) or None, "memory_mb": entry.memory_mb or None,
        "licence": entry.licence, "languages": entry.languages,
    }  # fmt: skip


@model_commands.command("pull")
def pull(
    name: Name,
    trust: Annotated[bool, typer.Option("--trust", help="Take a model nobody pinned, and pin what comes.")] = False,
    mirror: Annotated[str, typer.Option(help="Ask this address in place of the model's own host.")] = "",
    file: Annotated[Path | None, typer.Option("--from", help="Take this file; no other machine is asked.")] = None,
    role: Annotated[str, typer.Option(help="Of an address: chat, embed or rerank.")] = "chat",
    as_json: AsJson = False,
) -> None:
    """Bring a model in; a pull that was cut off goes on where it stopped."""
    settings = Settings()
    store, entry = ModelStore(settings.data_dir), entry_named(name, checked_role(role))
    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=as_json) as bar:
        task = bar.add_task("", total=None)
        model = Downloader(store, reserve_bytes=settings.min_free_bytes).pull(
            entry, mirror=mirror, file=file, trust=trust,
            on_bytes=lambda have, of: bar.update(task, completed=have, total=of or None),
        )  # fmt: skip
    if as_json:
        print_json(Console(), model.model_dump(mode="json"))
        return
    served = f"conclave model use {entry.name}" if entry.role in SERVED else f"nothing serves {entry.role} yet"
    Console().print(f"{entry.name} is here, {model.size} bytes, SHA-256 {model.sha256}; {served}", highlight=False)


@model_commands.command("remove")
def remove(name: Annotated[str, typer.Argument(help="As `conclave model list` names it.")]) -> None:
    """Delete a model's files; its pin stays."""
    ModelStore(Settings().data_dir).remove(name)
    Console().print(f"{name} is gone", highlight=False)


@model_commands.command("use")
def use(name: Annotated[str, typer.Argument(help="As `conclave model list` names it, or none.")]) -> None:
    """Have a model answer from the next start of the service on; warns unless its last check was good enough."""
    store, out = ModelStore(Settings().data_dir), Console(stderr=True)
    if name == "none":
        store.serve("chat", "")
        out.print("No model of this machine is used any more.")
        return
    model = store.find(name)
    if model.entry.role not in SERVED:
        raise AppError(ErrorCode.VALIDATION_FAILED, f"Nothing serves the role {model.entry.role} yet.")
    check_installed()
    if not has_its_hash(store, model):
        detail = f"The file of {name} is not the one that was pulled: remove it and pull again."
        raise AppError(ErrorCode.VALIDATION_FAILED, detail)
    store.serve(model.entry.role, name)
    for reason in store.doubts(name):
        out.print(text(f"warning: {reason}", "yellow"))
    out.print(f"{name} answers from the next start of the service on.", highlight=False)


for plugin in entries_of(COMMANDS):
    if plugin.name.startswith("model."):
        model_commands.command(plugin.name.removeprefix("model."))(plugin.load())
