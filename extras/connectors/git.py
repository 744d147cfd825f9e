"""A git repository, read by the program git from a bare copy: no file is checked out, no hook run, no link followed."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated
from urllib.parse import quote, urlsplit

from pydantic import Field

from app.connectors.source import Item, ItemRefused, Reach, SourceKind, SourceLost
from app.domain.record import Record
from app.errors import AppError, ErrorCode
from extras.connectors.reaching import AUTHORITY, basic, checked_addresses, hosts_of
from extras.web.safe_http import AllowedHosts, SystemResolver

FETCH_SECONDS, READ_SECONDS = 600.0, 60.0
MOST_PACK_BLOCKS = 4 * 2**20
"""Of 512 bytes: the largest file a fetch may write, 2 GiB."""
_OWN_CONFIG = "conclave.config"
_REF = "refs/conclave/source"
_LISTING_BYTES = 64 * 2**20
_FILES = ("100644", "100755")
"""Modes of plain files; links (120000) and other repositories (160000) are passed over."""


class Options(Record):
    """What of a repository."""

    url: Annotated[str, Field(pattern=r"^(https?://[^\s?#@]+|/[^\s]+)$", max_length=1_000)]
    """With https, or a folder of this machine."""
    branch: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/-]{0,200}$")] = "HEAD"
    path: Annotated[str, Field(pattern=r"^([^/.\\\s:][^\\:]*)?$", max_length=400)] = ""
    """Only this folder; it is no part of the documents' names."""
    user: Annotated[str, Field(max_length=200)] = ""
    web: Annotated[str, Field(pattern=r"^(https?://[^\s?#]+)?$", max_length=1_000)] = ""
    """Where people read the files: ``https://git.example.com/handbook/blob/main``."""


class GitSource:
    """A bare copy of one branch's newest commit in `folder`."""

    def __init__(self, options: Options, reach: Reach, hosts: AllowedHosts | None):
        self._options, self._folder, self._secret, self._hosts = options, reach.cache_dir, reach.secret, hosts

    async def changes(self) -> str:
        """The commit the branch is at, fetched; with the folder that is read."""
        await asyncio.to_thread(self._prepare)
        await self._git("init", "--quiet", "--bare", str(self._folder))
        own, branch = await self._connection(), self._options.branch
        await self._git(
            "fetch", "--quiet", "--depth=1", "--no-tags", "--no-write-fetch-head", "--force", "--", self._options.url,
            f"+{branch if branch == 'HEAD' else f'refs/heads/{branch}'}:{_REF}", own=own, seconds=FETCH_SECONDS,
        )  # fmt: skip
        return (await self._git("rev-parse", "--verify", f"{_REF}^{{commit}}")).decode().strip()

    async def list(self) -> AsyncIterator[Item]:
        """Every plain file of the commit."""
        folder = self._options.path.strip("/")
        tree = f"{_REF}^{{commit}}:{folder}" if folder else f"{_REF}^{{commit}}"
        listed = await self._git("ls-tree", "-r", "-z", "-l", "--full-tree", tree)
        for line in filter(None, listed.split(b"\0")):
            told, _, path = line.partition(b"\t")
            mode, _, digest, size = told.decode("ascii").split()
            if mode in _FILES:
                name = os.fsdecode(path)
                yield Item(name, digest, int(size), self._address(folder, name))

    async def access(self, item: Item) -> frozenset[str]:
        """Nothing: whoever may read a repository reads all of it."""
        return frozenset()

    async def fetch(self, item: Item, most_bytes: int) -> bytes:
        """The file of this content."""
        if item.size is None or item.size > most_bytes:
            raise ItemRefused(f"larger than {most_bytes:,} bytes")
        return await self._git("cat-file", "blob", item.tag, most_bytes=most_bytes)

    async def aclose(self) -> None:
        """Nothing is held."""

    def _prepare(self) -> None:
        """Make the folder, with a file that lets git read folders of other users of this machine: the operator named
        them, and git takes this from a file alone."""
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / _OWN_CONFIG).write_text("[safe]\n\tdirectory = *\n", "utf-8")

    def _address(self, folder: str, name: str) -> str:
        if not self._options.web:
            return ""
        return "/".join((self._options.web.rstrip("/"), *filter(None, (quote(folder), quote(name, errors="replace")))))

    async def _connection(self) -> dict[str, str]:
        """What git is told of the connection: the address that was checked, and who asks."""
        if self._hosts is None:
            return {}
        resolver = SystemResolver()
        try:
            found = await checked_addresses(self._hosts, self._options.url, resolver)
        finally:
            resolver.close()
        parts = urlsplit(self._options.url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        own = {"http.curloptResolve": f"{parts.hostname}:{port}:{','.join(found)}", "http.followRedirects": "false"}
        if authority := os.environ.get(AUTHORITY):
            own["http.sslCAInfo"] = authority
        if header := basic(self._options.user, self._secret):
            own["http.extraHeader"] = f"Authorization: {header}"
        return own

    async def _git(
        self, *arguments: str, own: Mapping[str, str] | None = None, seconds: float = READ_SECONDS,
        most_bytes: int = _LISTING_BYTES,
    ) -> bytes:  # fmt: skip
        """What git prints. Raises `SourceLost` when it fails, prints more, writes a larger file, or takes longer."""
        # The shell only sets the limit: every word of the command is handed over as it is.
        command = ("/bin/sh", "-c", 'ulimit -f "$0" && exec git "$@"', str(MOST_PACK_BLOCKS), *arguments)
        try:
            process = await asyncio.create_subprocess_exec(
                *command, cwd=self._folder, env=self._environment(own or {}), start_new_session=True,
                stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
            )  # fmt: skip
        except OSError as error:
            raise SourceLost(f"The program git cannot be started ({error.strerror}).") from error
        assert process.stdout is not None
        try:
            async with asyncio.timeout(seconds):
                printed = bytearray()
                while piece := await process.stdout.read(65_536):
                    printed += piece
                    if len(printed) > most_bytes:
                        raise SourceLost(f"git {arguments[0]} prints more than {most_bytes:,} bytes.")
                code = await process.wait()
        except TimeoutError as error:
            raise SourceLost(f"git {arguments[0]} took longer than {seconds:.0f} seconds.") from error
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        if code != 0:
            raise SourceLost(f"git {arguments[0]} ended with {code}: is the address right, and may the user read it?")
        return bytes(printed)

    def _environment(self, own: Mapping[str, str]) -> dict[str, str]:
        """Nothing of the service's own environment; no configuration but this, and no question to anybody."""
        told = {
            "protocol.allow": "never", f"protocol.{'file' if self._hosts is None else 'http'}.allow": "always",
            **({} if self._hosts is None else {"protocol.https.allow": "always"}), "core.hooksPath": os.devnull,
            "credential.helper": "", "http.lowSpeedLimit": "1000", "http.lowSpeedTime": "30", "gc.autoDetach": "false",
            **own,
        }  # fmt: skip
        numbered = dict[str, str]()
        for number, (key, value) in enumerate(told.items()):
            numbered |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
        return {
            "PATH": os.environ.get("PATH", os.defpath), "HOME": str(self._folder), "LC_ALL": "C.UTF-8",
            "GIT_DIR": str(self._folder), "GIT_CONFIG_GLOBAL": str(self._folder / _OWN_CONFIG),
            "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "true",
            "GIT_CONFIG_COUNT": str(len(told)), **numbered,
        }  # fmt: skip


def open_git(options: Options, reach: Reach) -> GitSource:
    """A repository on a host, or in a folder, the operator named. Raises `AppError`."""
    if not options.url.startswith("/"):
        return GitSource(options, reach, hosts_of(reach, options.url))
    wanted = Path(options.url).resolve()
    if not any(wanted.is_relative_to(folder.resolve()) for folder in reach.folders):
        detail = f"source.url: the operator's file does not let this company read the folder {options.url!r}."
        raise AppError(ErrorCode.PAYLOAD_INVALID, detail, status=422)
    return GitSource(options.model_copy(update={"url": str(wanted)}), reach, None)


GIT = SourceKind(Options, open_git)
