"""Evaluations that are kept: a folder for each run with its report and figures, the oldest removed beyond a number.

Files are their owner's only. Administrators see the figures of runs that asked about their tenant, or about documents
of a dataset's own. A server imports this module: it reads figures without the library that makes them.
"""

import asyncio
import os
import secrets
import shutil
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from app.domain.oversight import RUN_ID, KeptRun
from app.domain.principal import Principal, tenant_id_of

if TYPE_CHECKING:
    from app.evaluation.report import Report

MOST_RUNS = 30
REPORTS_FOLDER = "evaluations"
"""Of the data folder."""
REPORT_NAME, _FIGURES = "report.json", "figures.json"


class ReportStore:
    """The runs of one installation."""

    def __init__(self, folder: Path, most: int = MOST_RUNS):
        """`folder` need not be there yet."""
        self._folder, self._most = folder, most

    def keep(self, report: "Report") -> Path:
        """Write a run's files and give the folder; the oldest runs go. Blocks shortly."""
        run_id = f"{report.made_at.astimezone(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = self._folder / f".{run_id}"
        draft.mkdir(mode=0o700)
        write_owned(draft / REPORT_NAME, report.model_dump_json(indent=1))
        write_owned(draft / _FIGURES, report.figures(run_id).model_dump_json(indent=1))
        kept = draft.rename(self._folder / run_id)  # a run is there as a whole or not at all
        for old in self._ids()[self._most :]:
            shutil.rmtree(self._folder / old, ignore_errors=True)
        return kept

    async def runs(self, principal: Principal) -> list[KeptRun]:
        """The runs an administrator may see, newest first."""
        return [one for one in await asyncio.to_thread(self._all) if _concerns(principal, one.tenants)]

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


def _concerns(principal: Principal, tenants: tuple[str, ...]) -> bool:
    return not tenants or principal.tenant_id in {tenant_id_of(name) for name in tenants}
