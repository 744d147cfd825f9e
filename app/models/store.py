"""Models in the data directory: one folder each with its file and a record of it, pins that outlive them, and which
model serves a role. Everything is for this user alone (0600, 0700)."""

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from app.domain.record import Moment, Record
from app.errors import AppError, ErrorCode
from app.models.catalogue import Entry, Role, Sha256

FOLDER = "models/pulled"
"""Below the data directory."""
_RECORD, _ROLES, _CHECK = "record.json", "roles.json", "check.json"
_PARTIAL, _PIN = ".partial", ".pin"
_NAMES: TypeAdapter[dict[str, str]] = TypeAdapter(dict[str, str])


class Pulled(Record):
    """A model that is here."""

    entry: Entry
    sha256: Sha256
    """Of the file as it was pulled."""
    size: int
    pulled_at: Moment


class ModelStore:
    """The models of a data directory. Methods do blocking I/O; any number of processes may use it."""

    def __init__(self, data_dir: Path):
        self.folder = data_dir / FOLDER

    def pulled(self) -> dict[str, Pulled]:
        """The models that are here, by name."""
        found = {path.parent.name: _read(path) for path in sorted(self.folder.glob(f"*/{_RECORD}"))}
        return {name: one for name, one in found.items() if one is not None and not name.endswith(_PARTIAL)}

    def find(self, name: str) -> Pulled:
        """A model that is here. Raises `AppError` NOT_FOUND."""
        if (found := self.pulled().get(name)) is None:
            detail = f"There is no model {name[:100]!r} here: bring it in with `conclave model pull`."
            raise AppError(ErrorCode.NOT_FOUND, detail, status=404)
        return found

    def file_of(self, model: Pulled) -> Path:
        """Where its file lies."""
        return self.folder / model.entry.name / model.entry.file

    def partial(self, name: str) -> Path:
        """The folder a download is made in."""
        return self.folder / f"{name}{_PARTIAL}"

    def publish(self, model: Pulled, body: Path) -> None:
        """Make a downloaded body (in its partial folder) a model of the store, in one step, and pin it."""
        partial, final = self.partial(model.entry.name), self.folder / model.entry.name
        self.pin(model.entry.name, model.sha256)
        body.rename(partial / model.entry.file)
        write_private(partial / _RECORD, model.model_dump_json(indent=1))
        shutil.rmtree(final, ignore_errors=True)
        partial.rename(final)

    def remove(self, name: str) -> None:
        """Delete a model, and what is left of its download; its pin stays. Raises `AppError` where it serves a role."""
        if name in self.roles().values():
            detail = f"{name} serves a role: name another model with `conclave model use`, or `use none`, first."
            raise AppError(ErrorCode.VALIDATION_FAILED, detail)
        with self.alone(name):
            is_there = self.partial(name).is_dir()
            shutil.rmtree(self.partial(name), ignore_errors=True)
            if not is_there:
                self.find(name)
            shutil.rmtree(self.folder / name, ignore_errors=True)

    def pin_of(self, entry: Entry) -> str:
        """The SHA-256 its file must have: the catalogue's, or that of the first pull; empty = nobody knows."""
        pinned = self.folder / f"{entry.name}{_PIN}"
        return entry.sha256 or (pinned.read_text("utf-8").strip() if pinned.is_file() else "")

    def pin(self, name: str, sha256: str) -> None:
        """Remember what the file of a name has to be from now on."""
        write_private(self.folder / f"{name}{_PIN}", sha256)

    def roles(self) -> dict[str, str]:
        """Which model serves a role; roles that none serves are missing."""
        path = self.folder / _ROLES
        try:
            return _NAMES.validate_json(path.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValidationError) as error:
            detail = f"{path} cannot be read ({type(error).__name__}): mend it or delete it."
            raise AppError(ErrorCode.VALIDATION_FAILED, detail) from error

    def serve(self, role: Role, name: str) -> None:
        """Have a model serve a role from the next start of the service on; empty = none."""
        roles = {**self.roles(), role: name}
        write_private(self.folder / _ROLES, json.dumps({one: of for one, of in roles.items() if of}, indent=1))

    def note_check(self, name: str, figures: str) -> None:
        """Keep the figures of a check of a model, as JSON with ``below_floor``: why it should not be used."""
        write_private(self.folder / name / _CHECK, figures)

    def doubts(self, name: str) -> list[str]:
        """Why a model should not be used: what its last check says, or that there was none."""
        try:
            told = json.loads((self.folder / name / _CHECK).read_text("utf-8"))
            return [str(one) for one in told["below_floor"]]
        except (OSError, ValueError, LookupError):
            return [f"it was never checked: conclave model check {name}"]

    @contextmanager
    def alone(self, name: str) -> Iterator[None]:
        """Be the only process that changes this model. Raises `AppError` CONFLICT_IN_FLIGHT where another one does."""
        make_private(self.folder)
        with os.fdopen(os.open(self.folder / f".{name}.lock", os.O_RDWR | os.O_CREAT, 0o600), "r+") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                detail = f"Another process is pulling or removing {name}. Wait until it has ended."
                raise AppError(ErrorCode.CONFLICT_IN_FLIGHT, detail, status=409) from error
            yield


def make_private(folder: Path) -> None:
    """Make a folder that only this user may look into."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)


def write_private(path: Path, text: str) -> None:
    """Write a file that only this user may read, in one step."""
    make_private(path.parent)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)


def _read(path: Path) -> Pulled | None:
    """The record of a model; None where it is none, or its file is missing or of another size."""
    try:
        found = Pulled.model_validate_json(path.read_bytes())
        return found if (path.parent / found.entry.file).stat().st_size == found.size else None
    except (OSError, ValidationError):
        return None
