"""Bringing files in with the command line through a real server, and every command of the guide."""

import asyncio
import io
import json
import re
import shlex
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

from app.cli import app as command_line
from app.cli.bulk_ingest import Said
from app.cli.connecting import Target
from app.cli.ingest import Wanted, carry_out, prepare
from app.cli.library import Library, open_library
from app.errors import AppError, ErrorCode
from app.ingestion.folder import read_manifest
from app.main import Services, create_app
from app.settings import Settings
from tests.api.serving import serve

GUIDE = (Path(__file__).parents[2] / "docs" / "documents.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
COMMANDS = [line for kind, block in BLOCKS if kind == "sh" for line in block.splitlines()]


def written(folder: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


async def brought(library: Library, path: Path, *, is_sync: bool = False) -> tuple[int, dict[str, Any]]:
    """Exit code and the result line, with the outcome of each file under ``files``."""
    said = Said({"department": "hr", "scope": "internal", "authority": "policy"}, {})
    wanted = Wanted([path], said, is_sync=is_sync, allow_retire_all=False)
    steps, known = await prepare(library, wanted, read_manifest(path))
    out = io.StringIO()
    code = await carry_out(library, steps, known, Console(file=out), Console(file=io.StringIO()), True)
    *files, result = map(json.loads, out.getvalue().splitlines())
    return code, {**result, "files": {one["file"]: one for one in files}}


@asynccontextmanager
async def through(address: str, tenant: str = "acme", token: str = "") -> AsyncIterator[Library]:
    target = Target(f"{tenant}/", address, token)
    async with open_library(target, Console(file=io.StringIO())) as library:
        yield library


@asynccontextmanager
async def breaking_line(address: str, breaks: int) -> AsyncIterator[str]:
    """A line to the server that breaks on the first uploads: in turn before the file was sent, and after it was taken
    but before the answer came."""
    host, port = urlsplit(address).hostname, urlsplit(address).port
    left = breaks

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_connection(host, port)
        cut: list[bytes] = []

        async def ask() -> None:
            nonlocal left
            try:
                while piece := await reader.read(65_536):
                    if left and piece.startswith(b"POST /api/v1/documents"):
                        left -= 1
                        cut.append(b"HTTP/1.1 100" if left % 2 else b"HTTP/1.1 202")
                    to_server.write(piece)
            finally:  # also when the client resets the line
                to_server.close()

        async def answer() -> None:
            try:
                while piece := await from_server.read(65_536):
                    if cut and piece.startswith(cut[-1]):
                        break
                    writer.write(piece)
            finally:
                writer.close()

        await asyncio.gather(ask(), answer(), return_exceptions=True)

    listening = await asyncio.start_server(connect, "127.0.0.1", 0)
    async with listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    assert left == 0


class TestThroughAServer:
    async def test_folders_come_in_and_are_kept_in_step(
        self, address: str, token_of: Callable[[str], str], tmp_path: Path
    ) -> None:
        files: dict[str, str | bytes] = {
            "hr/badges.md": "# Thẻ\n\nThẻ được cấp lại trong 3 ngày.\n",
            "it/wifi.txt": "Mạng khách đổi mật khẩu mỗi tuần.",
            "it/page.html": "<html><body><h1>Bàn trợ giúp</h1><p>Gọi số 1234.</p></body></html>",
            "it/list.csv": "máy,vị trí\nin-01,tầng 4\n", "hr/broken.pdf": b"%PDF-1.7 broken",
        }  # fmt: skip
        folder = written(tmp_path / "tree", files)
        async with through(address, token=token_of("acme/admin")) as library:
            code, first = await brought(library, folder, is_sync=True)
            assert (code, first["published"], first["failed"]) == (1, 4, 1), first
            assert first["files"]["hr/broken.pdf"]["detail"]
            (folder / "hr" / "broken.pdf").unlink()
            (folder / "it" / "list.csv").unlink()
            code, second = await brought(library, folder, is_sync=True)
            assert (code, second["unchanged"], second["retired"], second["embedded"]) == (0, 3, 2, 0), second
            view = await library.find("folder:tree/it/page.html")
            assert (view.department, view.kind, view.latest_version) == ("it", "html", 1)
            with pytest.raises(AppError):
                await library.find("folder:tree/it/list.csv")

    async def test_a_broken_line_loses_nothing_and_doubles_nothing(
        self, address: str, token_of: Callable[[str], str], tmp_path: Path
    ) -> None:
        folder = written(tmp_path / "lost", {"a.md": "# Một\n\nĐoạn một.", "b.md": "# Hai\n\nĐoạn hai."})
        async with breaking_line(address, breaks=4) as line, through(line, token=token_of("acme/admin")) as library:
            code, result = await brought(library, folder)
            assert (code, result["published"]) == (0, 2), result
            assert [(await library.find(f"hr/{name}.md")).latest_version for name in "ab"] == [1, 1]

    async def test_a_file_beyond_the_servers_limit_stops_no_other(
        self, house: Services, api_settings: Settings, token_of: Callable[[str], str], tmp_path: Path
    ) -> None:
        small = api_settings.model_copy(update={"max_upload_bytes": 300_000})
        folder = written(tmp_path / "sizes", {"large.txt": "x" * 40_000_000, "small.txt": "Một đoạn ngắn."})
        token = token_of("acme/admin")
        async with serve(create_app(small, services=house)) as url, through(url, token=token) as library:
            code, result = await brought(library, folder)
        assert (code, result["published"], result["failed"]) == (1, 1, 1), result
        assert result["files"]["large.txt"]["code"] == "PAYLOAD_TOO_LARGE"

    async def test_a_token_of_another_tenant_is_refused_before_anything_is_sent(
        self, address: str, token_of: Callable[[str], str]
    ) -> None:
        with pytest.raises(AppError, match="another tenant"):
            async with through(address, "globex", token_of("acme/admin")):
                pass

    async def test_somebody_who_does_not_administer_is_refused_once(
        self, address: str, token_of: Callable[[str], str], tmp_path: Path
    ) -> None:
        folder = written(tmp_path / "refused", {"a.md": "# Một", "b.md": "# Hai"})
        async with through(address, token=token_of("acme/lan")) as library:
            with pytest.raises(AppError) as caught:
                await brought(library, folder)
        assert caught.value.code is ErrorCode.PERMISSION_DENIED


class TestPlainFolder:
    async def test_with_a_manifest_is_refused_rather_than_brought_in_with_other_rights(
        self, address: str, token_of: Callable[[str], str], tmp_path: Path
    ) -> None:
        folder = written(tmp_path / "ruled", {"a.md": "# Một", "conclave.toml": "[defaults]\nscope = 'private'\n"})
        async with through(address, token=token_of("acme/admin")) as library:
            with pytest.raises(AppError, match="--watch-once"):
                await brought(library, folder)


class TestGuide:
    """The guide's own examples, in order, as one administrator runs them."""

    @pytest.fixture
    def desk(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """A folder with the files the guide speaks of."""
        example = {kind: block for kind, block in BLOCKS if kind != "sh"}
        files: dict[str, str | bytes] = {
            "leave-2026.pdf": pdf("Employees have 14 days of annual leave."), "nghi-phep.md": example["markdown"],
            "faq.jsonl": example["json"], "policies/conclave.toml": example["toml"],
            "policies/hr/leave-2026.md": example["markdown"],
            "policies/hr/leave-2025.md": "# Nghỉ phép\n\nNhân viên được hưởng 12 ngày.",
            "policies/hr/salary/grades.md": "# Bậc lương\n\nBậc 3 nhận 32.000.000 đồng.",
            "policies/it/servers.md": "# Máy chủ\n\nKhởi động lại trong 15 phút.",
            "policies/Nhân sự/badges.md": "# Thẻ\n\nCấp lại trong 3 ngày.", "policies/drafts/x.md": "Nháp.",
        }  # fmt: skip
        monkeypatch.chdir(written(tmp_path, files))
        return tmp_path

    async def run(self, command: str) -> Result:
        name, *arguments = shlex.split(command)
        assert name == "conclave"
        return await asyncio.to_thread(lambda: CliRunner().invoke(command_line, arguments))

    async def test_every_command_does_what_it_says(
        self, address: str, api_settings: Settings, token_of: Callable[[str], str], desk: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:  # fmt: skip
        for name in ("database_url", "database_owner_url", "database_operator_url", "auth_jwt_secret"):
            monkeypatch.setenv(f"CONCLAVE_{name.upper()}", getattr(api_settings, name).get_secret_value())
        monkeypatch.setenv("CONCLAVE_DATA_DIR", str(api_settings.data_dir))
        monkeypatch.setenv("CONCLAVE_SERVER", address)
        monkeypatch.setenv("CONCLAVE_TOKEN", token_of("acme/admin"))
        monkeypatch.setenv("COLUMNS", "200")
        told = dict[str, str]()
        for command in COMMANDS:
            done = await self.run(command)
            assert done.exit_code == 0, (command, done.output, done.exception)
            told[command] = done.output
        assert len(told) == 8
        one_file, faq, fronted, sync, failed, shown, why, deleted = told.values()
        assert all("1 published" in output for output in (one_file, faq, fronted))
        assert "5 published, 1 skipped" in sync
        assert "no documents" in failed
        assert "Nghỉ phép năm 2026" in shown and "current_version" in shown and "2026-01-01" in shown
        assert "acme/minh may not read “Bậc lương”" in why and "it is private to hr" in why
        assert "is deleted" in deleted
        async with through(address, token=token_of("acme/admin")) as library:
            closed = await library.find("folder:policies/hr/leave-2025.md")
            assert str(closed.effective_to) == "2025-12-31"
            assert (await library.find("folder:policies/Nhân sự/badges.md")).department == "hr"


def pdf(text: str) -> bytes:
    """The smallest PDF that shows one line of text."""
    stream = f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET"
    objects = (
        "<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        f"<</Length {len(stream)}>>stream\n{stream}\nendstream", "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    )  # fmt: skip
    body, places = "%PDF-1.4\n", []
    for number, one in enumerate(objects, 1):
        places.append(len(body))
        body += f"{number} 0 obj{one}endobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size, start = len(objects) + 1, len(body)
    body += f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer<</Size {size}/Root 1 0 R>>\nstartxref\n{start}\n%%EOF"
    return body.encode()
