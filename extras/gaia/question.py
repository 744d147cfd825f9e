"""Files of questions in GAIA's format, and the files that belong to them: read strictly before anything is asked."""

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from pydantic import ConfigDict, Field, StringConstraints, ValidationError

from app.domain.knowledge import Language
from app.domain.record import Record
from app.errors import AppError, ErrorCode
from app.evaluation.dataset import faults_of, lines_of, refusal
from app.evaluation.question import Id, Text, User
from app.text.language import guess_language

UNKNOWN = "?"
"""The expected answer of a question whose answer is not published."""
_FOLDER = Path(__file__).parent / "sets"
BUNDLED = {"smoke": "questions.jsonl", "held": "questions_held.jsonl"}
"""Own sets by name: one to develop with, and one that is only asked."""


class GaiaQuestion(Record):
    """One line. Keys that are not named here are let pass: the benchmark's files hold more."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True, coerce_numbers_to_str=True)

    task_id: Id
    question: Text = Field(alias="Question")
    level: int = Field(alias="Level", ge=1, le=3)
    expected: Annotated[str, StringConstraints(max_length=2_000)] = Field(UNKNOWN, alias="Final answer")
    file_name: Annotated[str, StringConstraints(max_length=255)] = ""
    """Of the attached file; empty = none."""
    asker: User | None = None
    """Own field: ``tenant/user``."""
    tags: tuple[str, ...] = ()
    """Own field, for the groups of the report; the first is the kind of question."""
    language: Language | None = None
    """Own field; unset: told from the question."""

    @property
    def spoken(self) -> Language:
        """How numbers are read."""
        return self.language or guess_language(self.question)

    @property
    def is_scored(self) -> bool:
        """Whether a right answer is known."""
        return bool(self.expected.strip()) and self.expected != UNKNOWN


@dataclass(frozen=True)
class GaiaSet:
    """Questions and the folder of their files."""

    name: str
    questions: tuple[GaiaQuestion, ...]
    files: Path

    @property
    def fingerprint(self) -> str:
        """Changes with any question; 12 hex digits."""
        digest = hashlib.sha256()
        for question in self.questions:
            digest.update(question.model_dump_json().encode())
        return digest.hexdigest()[:12]

    def narrowed(self, level: int | None, limit: int | None) -> "GaiaSet":
        """The questions of one level only, and at most `limit`."""
        kept = [one for one in self.questions if level is None or one.level == level]
        return replace(self, questions=tuple(kept[:limit]))


def open_set(named: str, files: Path | None = None) -> GaiaSet:
    """The own set of that name, or the one in that file; attached files are sought in `files`, else beside it.

    Reads the disk. Raises `AppError` (PAYLOAD_INVALID) that lists the faults by line, a file that is not there too.
    """
    path = _FOLDER / BUNDLED[named] if named in BUNDLED else Path(named)
    if named in BUNDLED:
        files = files or _FOLDER / "files"
    elif not path.exists() and path.suffix != ".jsonl":
        raise refusal([f"There is no set {named[:200]!r}: name a file, or one of {', '.join(BUNDLED)}."])
    folder = files or path.parent
    questions = _questions(lines_of(path), path.name, folder)
    return GaiaSet(named if named in BUNDLED else path.stem, questions, folder)


def attached(folder: Path, name: str) -> Path:
    """The file of that name right inside `folder`. Raises `ValueError` for anything else, also for a link out of it."""
    if name != Path(name).name or name in ("", ".", ".."):
        raise ValueError(f"{name!r} is no plain file name")
    path = folder / name
    if not path.is_file():
        raise ValueError(f"{name!r} is not in {folder}")
    if path.resolve().parent != folder.resolve():
        raise ValueError(f"{name!r} leads out of {folder}")
    return path


def bytes_of(folder: Path, name: str, most: int) -> bytes:
    """What is in an attached file of at most `most` bytes. Raises `AppError`."""
    try:
        path = attached(folder, name)
        if path.stat().st_size > most:
            detail = f"{name}: has more than {most} bytes."
            raise AppError(ErrorCode.PAYLOAD_TOO_LARGE, detail, status=413)
        return path.read_bytes()
    except (ValueError, OSError) as error:
        raise AppError(ErrorCode.PAYLOAD_INVALID, f"{name}: cannot be read ({error}).", status=422) from error


def _questions(lines: list[str], name: str, folder: Path) -> tuple[GaiaQuestion, ...]:
    found: dict[str, GaiaQuestion] = {}
    faults: list[str] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        place = f"{name}: line {number}"
        try:
            question = GaiaQuestion.model_validate_json(line)
            if question.file_name:
                attached(folder, question.file_name)
        except ValidationError as error:
            faults += [f"{place}: {fault}" for fault in faults_of(error)]
        except (ValueError, OSError) as error:
            faults.append(f"{place}: file_name: {error}")
        else:
            if question.task_id in found:
                faults.append(f"{place}: the task_id {question.task_id!r} came before")
            found[question.task_id] = question
    if faults:
        raise refusal(faults)
    if not found:
        raise refusal([f"{name}: holds no question"])
    return tuple(found.values())
