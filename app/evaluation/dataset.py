"""Datasets: files of JSON lines, read strictly. Nothing of a file with a fault is used, and every fault is told."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from app.errors import AppError, ErrorCode
from app.evaluation.question import Question

SETS_FOLDER = Path(__file__).parents[2] / "bench" / "sets"
"""The datasets of a checkout."""
DEFAULT = ("smoke", "leaks", "versions")
_MOST_FAULTS = 20
_MOST_BYTES = 50_000_000


@dataclass(frozen=True)
class Case:
    """A question and where it stands."""

    question: Question
    place: str
    """``leaks.jsonl: line 3``."""


@dataclass(frozen=True)
class Dataset:
    """Questions that are asked together; those with own documents share a tenant per corpus."""

    name: str
    cases: tuple[Case, ...]

    @property
    def fingerprint(self) -> str:
        """Changes with any question; 12 hex digits."""
        digest = hashlib.sha256()
        for case in self.cases:
            digest.update(case.question.model_dump_json().encode())
        return digest.hexdigest()[:12]


def read_dataset(path: Path, name: str = "") -> Dataset:
    """Read one file; its name names the dataset. Raises `AppError` (PAYLOAD_INVALID) that lists the faults by line."""
    return Dataset(name or path.stem, parsed(lines_of(path), path.name))


def open_dataset(named: str, folder: Path = SETS_FOLDER) -> Dataset:
    """Read the dataset of that name in `folder`, or in that file. Raises `AppError` with the faults by line."""
    path = folder / f"{named}.jsonl"
    if path.is_file() and path.parent == folder:
        return read_dataset(path)
    if not Path(named).exists() and Path(named).suffix != ".jsonl":
        known = ", ".join(sorted(one.stem for one in folder.glob("*.jsonl"))) or "none here"
        raise refusal([f"There is no dataset {named[:200]!r}: name a file, or one of {known}."])
    return read_dataset(Path(named))


def lines_of(path: Path) -> list[str]:
    """The lines of a UTF-8 file. Raises `AppError`."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise refusal([f"{path}: has more than {_MOST_BYTES} bytes"])
        # JSON allows the separators that `splitlines` would cut at.
        return path.read_text("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise refusal([f"{path}: is not UTF-8 (byte {error.start})"]) from error
    except OSError as error:
        raise refusal([f"{path}: cannot be read ({error.strerror or type(error).__name__})"]) from error


def parsed(lines: Sequence[str], name: str) -> tuple[Case, ...]:
    """The questions of a file's lines; blank ones are skipped. Raises `AppError`."""
    cases: list[Case] = []
    faults: list[str] = []
    seen: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        place = f"{name}: line {number}"
        try:
            question = Question.model_validate_json(line)
        except ValidationError as error:
            faults += [f"{place}: {fault}" for fault in faults_of(error)]
        else:
            if question.id in seen:
                faults.append(f"{place}: the id {question.id!r} stands in line {seen[question.id]} already")
            seen.setdefault(question.id, number)
            cases.append(Case(question, place))
    faults += [] if faults else [*_corpus_faults(cases)]
    if faults:
        raise refusal(faults)
    if not cases:
        raise refusal([f"{name}: holds no question"])
    return tuple(cases)


def faults_of(error: ValidationError) -> Iterator[str]:
    """Say what a validation complains of, a line each."""
    for fault in error.errors(include_url=False, include_context=False, include_input=False):
        place = ".".join(str(part) for part in fault["loc"])
        said = fault["msg"].removeprefix("Value error, ")
        yield f"{place}: {said}" if place and not said.startswith(f"{place}.") else said


def _corpus_faults(cases: Sequence[Case]) -> Iterator[str]:
    """Documents that are told in two ways, and own-tenant questions nobody brought documents for."""
    known: dict[tuple[str, str], str] = {}
    for case in cases:
        for document in case.question.documents:
            key, content = (case.question.corpus, document.name), document.model_dump_json()
            if known.setdefault(key, content) != content:
                yield f"{case.place}: documents: {document.name!r} was told differently in an earlier line"
    corpora = {corpus for corpus, _ in known}
    for case in cases:
        question = case.question
        if question.is_in_own_tenant and question.corpus not in corpora:
            yield f"{case.place}: asker: names no tenant, and no line brings documents for corpus {question.corpus!r}"


def refusal(faults: Sequence[str]) -> AppError:
    """What is wrong, one a line."""
    shown = [*faults[:_MOST_FAULTS], *([f"… and {len(faults) - _MOST_FAULTS} more"] if faults[_MOST_FAULTS:] else [])]
    return AppError(ErrorCode.PAYLOAD_INVALID, "\n".join(shown), status=422)
