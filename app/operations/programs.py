"""PostgreSQL's own programs that copy a database: those beside the embedded server, else those on the PATH."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import IO
from urllib.parse import unquote, urlsplit, urlunsplit

from app.errors import AppError, ErrorCode


class Programs:
    """`pg_dump` and `pg_restore`. Methods block."""

    def __init__(self, folder: Path | None):
        """`folder`: where they lie; None = on the PATH."""
        self._folder = folder

    def dump(self, url: str, snapshot: str, server: int, into: IO[bytes]) -> None:
        """Write the database as an exported snapshot sees it, with rights and policies. Raises `AppError`."""
        program = self._found("pg_dump", server)
        self._run(url, (program, "--format=custom", "--compress=1", "--no-password", f"--snapshot={snapshot}"), into)

    def load(self, url: str, dump: Path, server: int) -> None:
        """Bring a dump into an empty database, all of it or nothing. Raises `AppError`."""
        program = self._found("pg_restore", server)
        flags = ("--exit-on-error", "--single-transaction", "--no-password")
        with dump.open("rb") as body:
            self._run(url, (program, *flags), None, body)

    def _found(self, name: str, server: int) -> str:
        """The program; `server` is the major version it has to understand."""
        path = shutil.which(name) if self._folder is None else str(self._folder / name)
        wanted = f"install the client programs of PostgreSQL {server} or newer"
        if path is None:
            raise _failed(f"{name} is not on the PATH: {wanted}.")
        told = subprocess.run((path, "--version"), capture_output=True, text=True, check=False).stdout
        found = re.search(r"\b(\d+)(\.\d+|\w+)", told)
        if found is None or int(found[1]) < server:
            raise _failed(f"{path} is too old for this database ({told.strip()[:60]}): {wanted}.")
        return path

    def _run(self, url: str, command: tuple[str, ...], out: IO[bytes] | None, body: IO[bytes] | None = None) -> None:
        address, password = _without_password(url)
        environment = {**os.environ, "PGOPTIONS": "", **({"PGPASSWORD": password} if password else {})}
        done = subprocess.run(
            (*command, f"--dbname={address}"), stdin=body or subprocess.DEVNULL, stdout=out or subprocess.DEVNULL,
            stderr=subprocess.PIPE, env=environment, check=False,
        )  # fmt: skip
        if done.returncode:
            told = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise _failed(f"{Path(command[0]).name} failed: {told[0][:300] if told else done.returncode}")


def _without_password(url: str) -> tuple[str, str]:
    """An address that may stand in a list of processes, and the password."""
    parts = urlsplit(url)
    who, at, where = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=who.partition(":")[0] + at + where)), unquote(parts.password or "")


def _failed(detail: str) -> AppError:
    return AppError(ErrorCode.DATABASE_UNAVAILABLE, detail, status=503)
