"""Evaluations that are kept: a folder for each run with its report and page, the oldest removed beyond a number.

Files are their owner's only. Administrators of a tenant see of a run what is theirs to see: figures of runs that asked
about their tenant, or about documents of a dataset's own, and of the questions those about their own tenant that were
asked with rights they hold themselves.
"""

import asyncio
import os
import secrets
import shutil
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from functools import cached_property
from hashlib import sha256
from pathlib import Path

from pydantic import ValidationError

from app.domain.evaluations import RUN_ID, KeptGate, KeptRate, KeptRun
from app.domain.principal import Principal, tenant_id_of
from app.errors import AppError, ErrorCode
from app.evaluation.comparison import Comparison, compare
from app.evaluation.page import report_page, style_sheet
from app.evaluation.question import Rights
from app.evaluation.report import Asked, Report, read_report

MOST_RUNS = 30
SHELF_FOLDER = "evaluations"
"""Of the data folder."""
REPORT_NAME, PAGE_NAME = "report.json", "report.html"
_FIGURES = "figures.json"
_DOCUMENTS = "documents of "
"""How a comparison begins to say that a tenant's documents were not alike."""


@dataclass(frozen=True)
class Viewer:
    """An administrator before the shelf."""

    principal: Principal
    people: Mapping[str, Principal]
    """The people of the tenant by name, with their rights of today."""


class Shelf:
    """The runs of one installation."""

    def __init__(self, folder: Path, most: int = MOST_RUNS):
        """`folder` need not be there yet."""
        self._folder, self._most = folder, most

    @cached_property
    def page_style_hash(self) -> str:
        """``sha256-…`` of the style sheet inside every page: what a policy must name to let it be shown."""
        return f"sha256-{b64encode(sha256(style_sheet().encode()).digest()).decode()}"

    def keep(self, report: Report, comparison: Comparison | None = None) -> Path:
        """Write a run's files and give the folder; the oldest runs go. Blocks shortly."""
        run_id = f"{report.made_at.astimezone(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"
        texts = {
            REPORT_NAME: report.model_dump_json(indent=1),
            PAGE_NAME: report_page(report, comparison),
            _FIGURES: figures_of(run_id, report).model_dump_json(indent=1),
        }
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = self._folder / f".{run_id}"
        draft.mkdir(mode=0o700)
        for name, text in texts.items():
            write_owned(draft / name, text)
        kept = draft.rename(self._folder / run_id)  # a run is there as a whole or not at all
        for old in self._ids()[self._most :]:
            shutil.rmtree(self._folder / old, ignore_errors=True)
        return kept

    async def runs(self, principal: Principal) -> list[KeptRun]:
        """The runs an administrator may see, newest first."""
        return [one for one in await asyncio.to_thread(self._all) if _concerns(principal, one.tenants)]

    async def page(self, who: Viewer, run_id: str, before: str | None = None) -> str:
        """The page of one run, with `before` also what changed since that one: HTML that needs nothing else.

        Raises `AppError`: 404 for runs the administrator may not see and unknown ones alike, 422 for two runs that
        share no question.
        """
        return await asyncio.to_thread(self._drawn, who, run_id, before)

    def _drawn(self, who: Viewer, run_id: str, before: str | None) -> str:
        report = self._read(who.principal, run_id)
        shown = shown_to(who, report)
        left_out = len(report.asked) - len(shown.asked)
        if before is None:
            return report_page(shown, left_out=left_out)
        found = compare(self._read(who.principal, before), report)
        visible = {one.key for one in shown.asked}
        seen = {
            "better": tuple(one for one in found.better if one.key in visible),
            "worse": tuple(one for one in found.worse if one.key in visible),
            "unlike": tuple(told for told in found.unlike if not told.startswith(_DOCUMENTS)),
        }
        return report_page(shown, found.model_copy(update=seen), left_out=left_out)

    def _read(self, principal: Principal, run_id: str) -> Report:
        path = self._folder / run_id / REPORT_NAME
        if not RUN_ID.fullmatch(run_id) or not path.is_file():
            raise _not_found()
        report = read_report(path)
        if not _concerns(principal, tenants_in(report)):
            raise _not_found()
        return report

    def _all(self) -> list[KeptRun]:
        found = (self._figures(run_id) for run_id in self._ids())
        return [one for one in found if one is not None]

    def _figures(self, run_id: str) -> KeptRun | None:
        try:
            return KeptRun.model_validate_json((self._folder / run_id / _FIGURES).read_bytes())
        except (OSError, ValidationError):  # removed meanwhile, or of another release
            return None

    def _ids(self) -> list[str]:
        """Newest first."""
        if not self._folder.is_dir():
            return []
        return sorted((one.name for one in self._folder.iterdir() if RUN_ID.fullmatch(one.name)), reverse=True)


def write_owned(path: Path, text: str, *, append: bool = False) -> None:
    """Write a file for its owner only: it tells what is in documents."""
    flags = os.O_WRONLY | os.O_CREAT | (os.O_APPEND if append else os.O_TRUNC)
    with os.fdopen(os.open(path, flags, 0o600), "a" if append else "w", encoding="utf-8") as file:
        file.write(text)


def figures_of(run_id: str, report: Report) -> KeptRun:
    """The main figures of a run."""
    return KeptRun(
        run_id=run_id, made_at=report.made_at, version=report.circumstances.version, mind=report.circumstances.mind,
        datasets=tuple(one.name for one in report.datasets), tenants=tenants_in(report), questions=report.questions,
        leak_count=report.leak_count,
        rates={name: KeptRate(value=one.value, low=one.low, high=one.high) for name, one in report.scores.items()},
        calibration_error=report.calibration.error if report.calibration else None,
        median_seconds=report.spent.median_seconds, p95_seconds=report.spent.p95_seconds,
        tokens_per_question=report.spent.tokens_per_question,
        gates=tuple(KeptGate.model_validate(one.model_dump()) for one in report.gates), holds=report.holds,
    )  # fmt: skip


def tenants_in(report: Report) -> tuple[str, ...]:
    """Names of the tenants a run asked about, without those of its datasets' own documents."""
    return tuple(sorted({name for one in report.asked if (name := _tenant_of(one))}))


def shown_to(who: Viewer, report: Report) -> Report:
    """The report with the questions and documents that are this administrator's to see; its figures stay."""
    told = report.circumstances
    corpora = tuple(one for one in told.corpora if tenant_id_of(one.tenant) == who.principal.tenant_id)
    seen = {
        "asked": tuple(one for one in report.asked if _may_see(who, one)),
        "circumstances": told.model_copy(update={"corpora": corpora}),
    }
    return report.model_copy(update=seen)


def _may_see(who: Viewer, one: Asked) -> bool:
    """Whether a question was asked about the administrator's tenant, with rights that do not reach beyond the
    administrator's own. Those of a user are the stored ones of today; of nobody who is gone anything is shown."""
    name, asker = _tenant_of(one), one.question.asker
    if not name or tenant_id_of(name) != who.principal.tenant_id:
        return False
    rights = asker.principal(name) if isinstance(asker, Rights) else who.people.get(asker.partition("/")[2])
    if rights is None:
        return False
    return rights.scopes <= who.principal.scopes and rights.departments <= who.principal.departments


def _tenant_of(one: Asked) -> str:
    asker = one.question.asker
    return asker.tenant if isinstance(asker, Rights) else asker.partition("/")[0]


def _concerns(principal: Principal, tenants: tuple[str, ...]) -> bool:
    return not tenants or principal.tenant_id in {tenant_id_of(name) for name in tenants}


def _not_found() -> AppError:
    return AppError(ErrorCode.NOT_FOUND, "There is no such evaluation.", status=404)
