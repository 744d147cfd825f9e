"""Files attached to questions, through a real server: uploading, asking, limits, and that nobody else sees them."""

import asyncio
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import openpyxl
import pytest
from typer.testing import CliRunner

from app.cli import app as command_line
from app.client.connection import Connection, question_body
from app.domain.attachments import AttachmentLimits
from app.domain.principal import tenant_id_of, user_id_of
from app.errors import AppError, ErrorCode
from app.ingestion.attached import Attachments
from app.main import Services
from app.settings import Settings
from app.storage import attachments
from tests.cases import each_case

COSTS = """Ngày;Phòng;Chi phí (đ);Trạng thái
05/01/2026;IT;12.000.000;Đã trả
03/04/2026;IT;25.000.000;Đã trả
20/05/2026;Nhân sự;8.250.500;Quá hạn
15/06/2026;Kế toán;(1.250.000);Đã trả
Tổng cộng;;44.000.500;
"""
TOTAL = "32.000.500"
Client = Callable[[str], httpx.AsyncClient]


def workbook() -> bytes:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "Chi phí"
    for row in (["Quý", "Phòng", "Chi phí"], ["Q1", "IT", 10.25], ["Q2", "IT", 20.5], ["Q2", "Nhân sự", 0.1]):
        sheet.append(row)
    written = io.BytesIO()
    book.save(written)
    return written.getvalue()


async def attached(http: httpx.AsyncClient, content: bytes | str, name: str) -> dict[str, Any]:
    data = content.encode() if isinstance(content, str) else content
    answer = await http.post("/files", files={"file": (name, data)})
    assert answer.status_code == 201, answer.text
    told: dict[str, Any] = answer.json()
    assert answer.headers["location"].endswith(told["file_id"])
    return told


async def answer_to(http: httpx.AsyncClient, query: str, *files: dict[str, Any]) -> dict[str, Any]:
    answer = await http.post("/chat", json={"query": query, "files": [one["file_id"] for one in files]})
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


@pytest.fixture
async def costs(lan: httpx.AsyncClient) -> dict[str, Any]:
    return await attached(lan, COSTS, "chi_phi.csv")


class TestFiles:
    async def test_are_described_when_they_are_attached(self, lan: httpx.AsyncClient, costs: dict[str, Any]) -> None:
        assert {name: costs[name] for name in ("name", "kind", "bytes", "pages", "tables", "warnings")} == {
            "name": "chi_phi.csv", "kind": "csv", "bytes": len(COSTS.encode()), "pages": None, "tables": 1,
            "warnings": [],
        }  # fmt: skip
        assert (await lan.get(f"/files/{costs['file_id']}")).json()["name"] == "chi_phi.csv"
        assert costs["file_id"] in {one["file_id"] for one in (await lan.get("/files")).json()["files"]}

    async def test_are_the_same_when_they_come_again(self, lan: httpx.AsyncClient, costs: dict[str, Any]) -> None:
        again = await attached(lan, COSTS, "chi_phi.csv")
        assert again["file_id"] == costs["file_id"]
        assert again["expires_at"] >= costs["expires_at"]

    async def test_answer_questions(self, lan: httpx.AsyncClient, costs: dict[str, Any]) -> None:
        told = await answer_to(lan, "tổng cột chi phí quý 2", costs)
        assert told["outcome"] == "answered" and TOTAL in told["answer"]
        (evidence,) = told["evidence"]
        assert (evidence["source_type"], evidence["scope"]) == ("file", "private")
        assert evidence["url"].startswith("file:chi_phi.csv#column=")
        book = await attached(lan, workbook(), "so.xlsx")
        english = await answer_to(lan, "total of the cost column for Q2", book)
        assert "20.6" in english["answer"]

    async def test_an_answer_without_the_file_is_not_remembered_for_the_question_with_it(
        self, lan: httpx.AsyncClient, costs: dict[str, Any]
    ) -> None:
        question = "tổng chi phí phòng IT"
        await lan.post("/chat", json={"query": question})
        assert "37.000.000" in (await answer_to(lan, question, costs))["answer"]
        changed = await attached(lan, COSTS.replace("25.000.000", "26.000.000"), "chi_phi.csv")
        assert "38.000.000" in (await answer_to(lan, question, changed))["answer"]

    async def test_are_gone_when_they_were_removed(self, lan: httpx.AsyncClient) -> None:
        told = await attached(lan, COSTS, "weg.csv")
        assert (await lan.delete(f"/files/{told['file_id']}")).status_code == 204
        assert (await lan.get(f"/files/{told['file_id']}")).status_code == 404
        assert (await lan.post("/chat", json={"query": "x y", "files": [told["file_id"]]})).status_code == 404

    @each_case("user", ["acme/minh", "acme/admin", "globex/tom"])
    async def test_belong_to_their_owner_alone(self, client_of: Client, costs: dict[str, Any], user: str) -> None:
        http, path = client_of(user), f"/files/{costs['file_id']}"
        unknown = (await http.get("/files/00000000-0000-4000-8000-000000000000")).json()
        for answer in (
            await http.get(path),
            await http.delete(path),
            await http.post("/chat", json={"query": "tổng chi phí", "files": [costs["file_id"]]}),
            await http.post("/chat/stream", json={"query": "tổng chi phí", "files": [costs["file_id"]]}),
            await http.post("/plans", json={"query": "tổng chi phí", "files": [costs["file_id"]]}),
        ):
            assert (answer.status_code, answer.json()["detail"]) == (404, unknown["detail"])
        assert costs["file_id"] not in {one["file_id"] for one in (await http.get("/files")).json()["files"]}

    @each_case(
        ("content", "name", "status", "code"),
        [
            (b"", "a.csv", 422, "DOCUMENT_REJECTED"),
            (b"\x00\x01" * 99, "a.csv", 422, "DOCUMENT_REJECTED"),
            (b"PK\x03\x04" + b"x" * 99, "a.zip", 422, "DOCUMENT_REJECTED"),
            (b"x," * 6_000_000, "a.csv", 413, "PAYLOAD_TOO_LARGE"),
        ],
    )
    async def test_are_refused_by_code(
        self, lan: httpx.AsyncClient, content: bytes, name: str, status: int, code: str
    ) -> None:
        answer = await lan.post("/files", files={"file": (name, content)})
        assert (answer.status_code, answer.json()["code"]) == (status, code)

    async def test_need_a_form_with_a_file(self, lan: httpx.AsyncClient) -> None:
        assert (await lan.post("/files", json={})).status_code == 415
        assert (await lan.post("/files", data={"x": "y"}, files={"other": b"1"})).status_code == 422

    async def test_names_say_nothing_about_places(self, lan: httpx.AsyncClient) -> None:
        told = await attached(lan, COSTS, "..\\..\\etc/chi\u202e phi.csv")
        assert told["name"] == "chi phi.csv"


class TestLimits:
    async def test_hold_for_each_person(self, house: Services) -> None:
        tenant = tenant_id_of("acme")
        lan = (await house.claims_of("acme/lan")).principal()
        other = lan.model_copy(update={"user_id": user_id_of(tenant, "somebody else")})
        small = Attachments(house.database, AttachmentLimits(max_files=2, max_total_bytes=60))
        try:
            await small.bring_in(other, b"a,b\n1,2\n", "one.csv")
            made = await asyncio.gather(
                *(small.bring_in(other, f"a,b\n{n},{n}\n".encode(), "x.csv") for n in range(4)), return_exceptions=True
            )
            refused = [one for one in made if isinstance(one, AppError)]
            assert [one.code for one in refused] == [ErrorCode.RATE_LIMITED] * 3
            for one in await small.listing(other):
                await small.delete(other, one.file_id)
            with pytest.raises(AppError, match="more than 60 bytes"):
                await small.bring_in(other, b"a,b\n" + b"1,2\n" * 20, "large.csv")
        finally:
            await small.aclose()

    async def test_expired_files_are_not_there_and_are_swept(self, house: Services) -> None:
        lan = (await house.claims_of("acme/lan")).principal()
        now = house.rooms.now()
        past = Attachments(house.database, AttachmentLimits(days=1), clock=lambda: now.replace(year=now.year - 1))
        try:
            old = await past.bring_in(lan, b"a,b\n7,7\n", "old.csv")
            assert await past.read(lan, old.file_id) is None
            assert old.file_id not in {one.file_id for one in await past.listing(lan)}
            async with house.database.principal_scope(lan) as tx:
                assert (await attachments.sweep(tx), await attachments.sweep(tx)) == (1, 0)
        finally:
            await past.aclose()


class TestCommandLine:
    async def test_asks_about_several_files(self, address: str, token_of: Callable[[str], str], tmp_path: Path) -> None:
        paths = [tmp_path / "chi_phi.csv", tmp_path / "so.xlsx"]
        paths[0].write_text(COSTS, "utf-8")
        paths[1].write_bytes(workbook())
        async with Connection(address, token_of("acme/lan")) as connection:
            for path, expected in zip(paths, (TOTAL, "20,6"), strict=True):
                answer: dict[str, Any] = {}
                body = question_body("tổng cột chi phí quý 2", files=[str(await connection.attach(path))])
                async for told in connection.run(body):
                    answer = told.ending
                assert expected in answer["answer"]

    async def test_asks_about_files_through_a_server(
        self, address: str, token_of: Callable[[str], str], tmp_path: Path
    ) -> None:
        path = tmp_path / "chi_phi.csv"
        path.write_text(COSTS, "utf-8")
        options = ["--server", address, "--token", token_of("acme/lan"), "--json"]
        asked = ["ask", "tổng cột chi phí quý 2", "--file", str(path), *options]
        result = await asyncio.to_thread(CliRunner().invoke, command_line, asked)
        assert result.exit_code == 0, result.output
        answers = [line for line in result.output.splitlines() if line.startswith("{") and '"outcome"' in line]
        assert TOTAL in json.loads(answers[-1])["answer"]

    def test_names_a_file_that_is_not_there(self, tmp_path: Path) -> None:
        result = CliRunner().invoke(command_line, ["ask", "x", "--file", str(tmp_path / "weg.csv")])
        assert result.exit_code == 2 and "--file" in result.output

    def test_the_size_is_a_setting(self) -> None:
        assert Settings(_env_file=None).attachment_max_bytes == AttachmentLimits().max_bytes
