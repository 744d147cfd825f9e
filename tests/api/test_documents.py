"""Documents over HTTP: brought in, followed, looked at, changed, deleted; and what is refused at the door."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from itertools import count
from typing import Any
from uuid import UUID

import httpx
import pytest

from app.embedding import EmbeddingUnavailable, Vectors
from app.main import Services, create_app
from tests.api.serving import serve
from tests.api.sse_reader import TERMINAL, Seen, parse
from tests.unit.ingestion.parsing import samples

Client = httpx.AsyncClient
Embed = Callable[[Sequence[str]], Any]
UNKNOWN = "00000000-0000-4000-8000-000000000000"
LIMIT = 100_000
_numbers = count(1)


@pytest.fixture
def admin(client_of: Callable[[str], Client]) -> Client:
    """acme/admin: every department and scope."""
    return client_of("acme/admin")


@pytest.fixture(scope="module", autouse=True)
async def tidy_up(client_of: Callable[[str], Client]) -> AsyncIterator[None]:
    """The house is shared: what is brought in here goes again."""
    yield
    http = client_of("acme/admin")
    for document in (await http.get("/documents?limit=100")).json()["documents"]:
        if document["external_id"].startswith("rule-"):
            await http.delete(f"/documents/{document['document_id']}")


@pytest.fixture
def name() -> str:
    """A document nobody brought in before."""
    return f"rule-{next(_numbers)}"


@pytest.fixture
async def narrow(house: Services, admin: Client) -> AsyncIterator[Client]:
    """The administrator at a door that lets little through."""
    limits = {"max_upload_bytes": LIMIT, "max_body_bytes": 20_000}
    app = create_app(house.settings.model_copy(update=limits), services=house)
    async with serve(app) as url, Client(base_url=f"{url}/api/v1", headers=admin.headers, timeout=30) as http:
        yield http


def fields(name: str, **changes: Any) -> dict[str, Any]:
    return {"external_id": name, "department": "hr", "scope": "public", **changes}


async def send_file(http: Client, content: bytes, file_name: str = "a.md", **said: Any) -> httpx.Response:
    return await http.post("/documents", files={"file": (file_name, content)}, data=said)


async def follow(http: Client, accepted: httpx.Response) -> list[Seen]:
    """Everything its task tells."""
    assert accepted.status_code == 202, accepted.text
    answer = await http.get(f"/tasks/{accepted.json()['task_id']}/events")
    seen = parse(answer.text)
    assert [event.type for event in seen if event.type in TERMINAL] == [seen[-1].type]
    return seen


async def look(http: Client, accepted: httpx.Response) -> dict[str, Any]:
    found: dict[str, Any] = (await http.get(f"/documents/{accepted.json()['document_id']}")).json()
    return found


async def texts(http: Client, query: str) -> list[str]:
    answer = await http.post("/search", json={"query": query, "limit": 50})
    return [passage["text"] for passage in answer.json()["passages"]]


def refused(answer: httpx.Response, status: int, code: str, named: str = "") -> None:
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert named in answer.json()["detail"]


class TestBringingIn:
    async def test_a_file_goes_through_its_stages(self, admin: Client, lan: Client, name: str) -> None:
        content = f"# Quy định {name}\n\nMã số bí danh {name}-kim-cương được cấp cho kỹ sư.\n".encode()
        accepted = await send_file(admin, content, **fields(name))
        where = f"/api/v1/documents/{accepted.json()['document_id']}"
        assert (accepted.status_code, accepted.headers["location"]) == (202, where)
        seen = await follow(admin, accepted)
        assert [event.seq for event in seen] == list(range(1, len(seen) + 1))
        assert [event.type for event in seen] == ["task_available", *["progress"] * (len(seen) - 2), "final_report"]
        steps = [event.data["output"] for event in seen[1:-1]]
        assert [step["processing_status"] for step in steps] == [
            "parsing", "chunking", "embedding", "embedding", "ready",
        ]  # fmt: skip
        assert [(step["chunks_embedded"], step["chunks_total"]) for step in steps[2:]] == [(0, 1), (1, 1), (1, 1)]
        percentages = [step["progress_percentage"] for step in steps]
        assert percentages == sorted(percentages) and percentages[-1] == 100
        report = seen[-1].data["answer"]
        assert (report["status"], report["version"], report["chunks"]) == ("ready", 1, 1)
        view = await look(admin, accepted)
        assert (view["status"], view["kind"], view["chunks_total"], view["chunks_embedded"]) == (
            "ready",
            "markdown",
            1,
            1,
        )
        assert (view["title"], view["lang"], view["byte_count"]) == (f"Quy định {name}", "vi", len(content))
        assert view["url"] == f"{where}/original" and view["task_id"] == accepted.json()["task_id"]
        assert any(f"{name}-kim-cương" in text for text in await texts(lan, f"bí danh {name}-kim-cương"))
        original = await lan.get(f"/documents/{view['document_id']}/original")
        assert original.content == content and original.headers["content-type"] == "application/octet-stream"
        assert original.headers["content-disposition"] == "attachment; filename*=UTF-8''a.md"

    @pytest.mark.parametrize(
        ("made", "file_name", "kind"),
        [(samples.word, "a.docx", "docx"), (samples.pdf, "a.pdf", "pdf"), (samples.sheets, "wrong.txt", "xlsx")],
    )
    async def test_what_a_file_is_is_seen_and_not_believed(
        self, admin: Client, name: str, made: Callable[[], bytes], file_name: str, kind: str
    ) -> None:
        accepted = await send_file(admin, made(), file_name, **fields(name))
        assert (await follow(admin, accepted))[-1].type == "final_report"
        view = await look(admin, accepted)
        assert (view["status"], view["kind"], view["file_name"]) == ("ready", kind, file_name)

    async def test_a_text_of_300_kilobytes(self, admin: Client, name: str) -> None:
        text = "Nhân viên nghỉ phép báo trước cho quản lý trực tiếp và bàn giao công việc.\n\n" * 3_200
        assert len(text.encode()) > 300_000
        accepted = await admin.post("/documents", json={**fields(name), "text": text})
        assert (await follow(admin, accepted))[-1].type == "final_report"
        view = await look(admin, accepted)
        assert view["byte_count"] == len(text.encode()) and view["chunks_total"] > 100
        assert (await admin.delete(f"/documents/{view['document_id']}")).status_code == 204

    @pytest.mark.parametrize(
        "url",
        [
            "javascript:alert(1)", "JavaScript:alert(1)", "data:text/html,x", "file:///etc/passwd", "//host.example/x",
            "/\\host.example", "https:///x", "https://a.example/\nb", " https://a.example", "ftp://a.example", "a b",
            'https://a.example/"onclick="x', "vbscript:x", "http:x",
        ],
    )  # fmt: skip
    async def test_with_an_address_nobody_may_open_is_refused(self, admin: httpx.AsyncClient, url: str) -> None:
        said = {"external_id": "linked", "department": "hr", "scope": "public", "text": "Một câu.", "title": "a"}
        refused(await admin.post("/documents", json=said | {"url": url}), 422, "PAYLOAD_INVALID")
        refused(await admin.patch(f"/documents/{UNKNOWN}", json={"url": url}), 422, "PAYLOAD_INVALID")
        for held in ("https://a.example/x?y=1#z", "HTTP://a.example", "/a/b.md", "/"):
            assert (await admin.patch(f"/documents/{UNKNOWN}", json={"url": held})).status_code == 404

    @pytest.mark.parametrize("said", [{}, {"url": ""}])
    async def test_a_text_without_an_address_gets_its_own(
        self, admin: Client, lan: Client, name: str, said: dict[str, str]
    ) -> None:
        accepted = await admin.post("/documents", json={**fields(name), **said, "text": f"Tủ {name} mở lúc 7 giờ."})
        await follow(admin, accepted)
        view = await look(admin, accepted)
        assert view["url"] == f"/api/v1/documents/{view['document_id']}"
        [read] = (await lan.get("/reading", params={"url": view["url"]})).json()["documents"]
        assert f"Tủ {name}" in read["text"]

    async def test_the_same_again_is_no_work(self, admin: Client, name: str) -> None:
        content = f"Máy in {name} ở tầng 4.".encode()
        await follow(admin, await send_file(admin, content, **fields(name)))
        seen = await follow(admin, accepted := await send_file(admin, content, **fields(name)))
        assert [event.type for event in seen] == ["task_available", "final_report"]
        report = seen[-1].data["answer"]
        assert (report["code"], report["version"], report["embedded"]) == ("UNCHANGED", None, 0)
        versions = await admin.get(f"/documents/{accepted.json()['document_id']}/versions")
        assert [version["version"] for version in versions.json()["versions"]] == [1]

    async def test_a_repeated_key_is_one_arrival(self, admin: Client, name: str) -> None:
        body, key = {**fields(name), "text": f"Máy in {name}."}, {"Idempotency-Key": name}
        answers = await asyncio.gather(*(admin.post("/documents", json=body, headers=key) for _ in range(4)))
        assert {answer.status_code for answer in answers} == {202}
        assert len({answer.text for answer in answers}) == 1
        assert len({answer.headers["location"] for answer in answers}) == 1
        await follow(admin, answers[0])
        assert (await look(admin, answers[0]))["latest_version"] == 1
        other = await admin.post("/documents", json={**body, "text": "Khác."}, headers=key)
        refused(other, 422, "IDEMPOTENCY_MISMATCH")

    async def test_a_file_nobody_can_read_fails_with_code_and_advice(self, admin: Client, name: str) -> None:
        await follow(admin, await send_file(admin, f"Máy in {name} ở tầng 4.".encode(), **fields(name)))
        seen = await follow(admin, accepted := await send_file(admin, b"---\n\n---\n", **fields(name)))
        failure = seen[-1].data["answer"]
        assert (seen[-1].type, failure["error_code"]) == ("task_failed", "DOCUMENT_REJECTED")
        view = await look(admin, accepted)
        assert (view["status"], view["status_code"], failure["code"]) == ("failed", "NO_TEXT", "NO_TEXT")
        assert view["status_detail"] and view["status_detail"] in failure["error_message"]
        assert (view["current_version"], view["latest_version"]) == (1, 2)

    async def test_an_absent_model_is_waited_for(
        self, admin: Client, house: Services, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made, failures = house.embedder.embed_passages, iter((True, False))

        async def away_at_first(given: Sequence[str]) -> Vectors:
            if next(failures, False):
                raise EmbeddingUnavailable("away")
            return await made(given)

        monkeypatch.setattr(house.embedder, "embed_passages", away_at_first)
        seen = await follow(admin, accepted := await send_file(admin, f"Máy in {name}.".encode(), **fields(name)))
        assert seen[-1].type == "final_report" and (await look(admin, accepted))["status"] == "ready"

    async def test_cancelling_leaves_the_version_before(
        self, admin: Client, house: Services, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await follow(admin, await send_file(admin, f"Máy in {name} ở tầng 4.".encode(), **fields(name)))
        begun = asyncio.Event()

        async def never(_given: Sequence[str]) -> Vectors:
            begun.set()
            await asyncio.sleep(60)
            raise AssertionError("nobody stopped it")

        newer = f"Máy in {name} ở tầng 5.".encode()
        with monkeypatch.context() as patched:
            patched.setattr(house.embedder, "embed_passages", never)
            accepted = await send_file(admin, newer, **fields(name))
            await asyncio.wait_for(begun.wait(), 20)
            assert (await look(admin, accepted))["status"] == "embedding"
            await admin.post(f"/tasks/{accepted.json()['task_id']}/cancel")
            assert (await follow(admin, accepted))[-1].type == "task_cancelled"
        view = await look(admin, accepted)
        assert (view["status"], view["status_code"], view["current_version"]) == ("failed", "STOPPED", 1)
        assert f"Máy in {name} ở tầng 4." in await texts(admin, f"Máy in {name}")
        await follow(admin, await send_file(admin, newer, **fields(name)))
        assert f"Máy in {name} ở tầng 5." in await texts(admin, f"Máy in {name}")

    @pytest.mark.parametrize(
        ("file_name", "kept"),
        [
            ("../../../etc/passwd.md", "passwd.md"),
            ("C:\\temp\\sổ tay.md", "sổ tay.md"),
            ("a\r\nX-Evil: 1.md", "a%0D%0AX-Evil: 1.md"),
            ("\u202egpj.md", "gpj.md"),
            ("<img src=x onerror=alert(1)>.md", "<img src=x onerror=alert(1)>.md"),
            ("n" * 300 + ".md", ("n" * 300 + ".md")[-200:]),
            ("..", ""),
        ],
    )
    async def test_hostile_file_names_are_only_names(self, admin: Client, name: str, file_name: str, kept: str) -> None:
        accepted = await send_file(admin, f"Máy in {name}.".encode(), file_name, **fields(name))
        await follow(admin, accepted)
        assert (await look(admin, accepted))["file_name"] == kept
        original = await admin.get(f"/documents/{accepted.json()['document_id']}/original")
        assert original.status_code == 200 and "x-evil" not in original.headers
        assert original.headers["content-disposition"].isascii()


class TestRefusal:
    async def test_of_texts_names_the_field(self, admin: Client, subtests: pytest.Subtests) -> None:
        for body, status, code, named in [
            ({"text": "x", "department": "hr", "scope": "public"}, 422, "DOCUMENT_REJECTED", "external_id"),
            ({"text": "x", "external_id": "new-1", "scope": "public"}, 422, "DOCUMENT_REJECTED", "department"),
            ({"text": "x", "external_id": "new-1", "department": "hr"}, 422, "DOCUMENT_REJECTED", "scope"),
            (fields("new-1"), 422, "PAYLOAD_INVALID", "text"),
            (fields("new-1", text=""), 422, "DOCUMENT_REJECTED", "text"),
            (fields("new-1", text="x", scope="secret"), 422, "PAYLOAD_INVALID", "scope"),
            (fields("new-1", text="x", department="HR!"), 422, "DOCUMENT_REJECTED", "department"),
            (fields("new-1", text="x", effective_from="2026-02-30"), 422, "PAYLOAD_INVALID", "effective_from"),
            (fields("new-1", text="x", created_at="yesterday"), 422, "PAYLOAD_INVALID", "created_at"),
            (
                fields("new-1", text="x", effective_from="2026-02-01", effective_to="2026-01-01"),
                422,
                "DOCUMENT_REJECTED",
                "effective_to",
            ),
            (fields("new-1", text="x", roles="admin"), 422, "PAYLOAD_INVALID", "roles"),
            (fields("new-1", text="x", tenant_id="globex"), 422, "PAYLOAD_INVALID", "tenant_id"),
            (fields("x" * 501, text="x"), 422, "PAYLOAD_INVALID", "external_id"),
            (fields("new-1", text="nghỉ\x00phép"), 422, "PAYLOAD_INVALID", "text"),
            (fields("new-1", text="\ud800"), 422, "PAYLOAD_INVALID", "text"),
            ([], 422, "PAYLOAD_INVALID", ""),
        ]:
            with subtests.test(ascii((body, status, code, named))[:80]):
                content = json.dumps(body).encode()
                answer = await admin.post("/documents", content=content, headers={"Content-Type": "application/json"})
                refused(answer, status, code, named)
                assert await self._is_unknown(admin)

    async def test_of_what_is_no_json(self, admin: Client, subtests: pytest.Subtests) -> None:
        for content in [b"", b"{", b'{"text": "\xff"}', b"[" * 40 + b"]" * 40]:
            with subtests.test(ascii(content)[:80]):
                answer = await admin.post("/documents", content=content, headers={"Content-Type": "application/json"})
                refused(answer, 422, "PAYLOAD_INVALID")

    async def test_of_files_names_the_field(self, admin: Client, subtests: pytest.Subtests) -> None:
        for content, said, status, code, named in [
            (b"", fields("new-1"), 422, "DOCUMENT_REJECTED", "file"),
            (b"\x7fELF\x02\x01\x01\x00" + b"\x00" * 64, fields("new-1"), 415, "DOCUMENT_REJECTED", "file"),
            (b"x", fields("new-1", scope="secret"), 422, "PAYLOAD_INVALID", "scope"),
            (b"x", fields("new-1", effective_to="soon"), 422, "PAYLOAD_INVALID", "effective_to"),
            (b"x", fields("new-1", text="both"), 422, "PAYLOAD_INVALID", "text"),
            (b"x", {f"field-{number}": "x" for number in range(30)}, 422, "PAYLOAD_INVALID", "form"),
            (b"x", {"external_id": "new-1"}, 422, "DOCUMENT_REJECTED", "department"),
        ]:
            with subtests.test(ascii((content, said, status, code, named))[:80]):
                refused(await send_file(admin, content, **said), status, code, named)
                assert await self._is_unknown(admin)

    async def test_of_forms_without_a_file_or_with_two(self, admin: Client) -> None:
        plain = await admin.post("/documents", files={"file": (None, "x"), "scope": (None, "public")})
        refused(plain, 422, "PAYLOAD_INVALID", "file")
        two = await admin.post("/documents", files=[("file", ("a.md", b"x")), ("file", ("b.md", b"y"))])
        refused(two, 422, "PAYLOAD_INVALID", "form")
        broken = {"Content-Type": "multipart/form-data; boundary=x"}
        refused(await admin.post("/documents", content=b"--x\r\nnonsense", headers=broken), 422, "PAYLOAD_INVALID")
        unnamed = {"Content-Type": "multipart/form-data"}
        refused(await admin.post("/documents", content=b"--x--", headers=unnamed), 422, "PAYLOAD_INVALID")

    async def test_of_other_content_types(self, admin: Client, subtests: pytest.Subtests) -> None:
        for kind in ["text/plain", "application/pdf", "application/x-www-form-urlencoded", ""]:
            with subtests.test(ascii(kind)[:80]):
                answer = await admin.post("/documents", content=b"text=x", headers={"Content-Type": kind})
                refused(answer, 415, "PAYLOAD_INVALID")

    async def test_of_who_does_not_administer(self, lan: Client, client_of: Callable[[str], Client]) -> None:
        refused(await send_file(lan, b"x", **fields("new-1")), 403, "PERMISSION_DENIED")
        refused(await lan.post("/documents", json=fields("new-1", text="x")), 403, "PERMISSION_DENIED")
        for method, body in (("PATCH", {"scope": "public"}), ("DELETE", None)):
            refused(await lan.request(method, f"/documents/{UNKNOWN}", json=body), 403, "PERMISSION_DENIED")

    async def test_of_what_is_too_large(self, narrow: Client, name: str) -> None:
        refused(await send_file(narrow, b"x" * (LIMIT + 70_000), **fields(name)), 413, "PAYLOAD_TOO_LARGE")
        refused(await narrow.post("/documents", json=fields(name, text="x" * LIMIT)), 413, "PAYLOAD_TOO_LARGE")
        refused(await narrow.patch(f"/documents/{UNKNOWN}", json={"url": "x" * 30_000}), 413, "PAYLOAD_TOO_LARGE")
        assert (await send_file(narrow, b"Quy tac. " * (LIMIT // 10), **fields(name))).status_code == 202

    async def test_of_what_never_ends(self, narrow: Client) -> None:
        """Without a length the size shows only while it streams in."""
        sent = 0

        async def endless() -> AsyncIterator[bytes]:
            nonlocal sent
            yield b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.md"\r\n\r\n'
            while sent < 100_000_000:
                sent += 65_536
                yield b"a" * 65_536

        for _ in range(3):
            try:
                kind = {"Content-Type": "multipart/form-data; boundary=x"}
                refused(await narrow.post("/documents", content=endless(), headers=kind), 413, "PAYLOAD_TOO_LARGE")
            except httpx.NetworkError:
                pass  # the server answered and closed before everything was sent
        assert sent < 50_000_000
        assert (await narrow.get("/documents")).status_code == 200

    async def test_of_changes_names_the_field(self, admin: Client, name: str) -> None:
        accepted = await admin.post("/documents", json=fields(name, text="Máy in."))
        await follow(admin, accepted)
        where, before = f"/documents/{accepted.json()['document_id']}", await look(admin, accepted)
        for body, named in (
            ({"scope": None}, "scope"),
            ({"department": "HR!"}, "department"),
            ({"effective_from": "2027-01-01", "effective_to": "2026-01-01"}, "effective_to"),
            ({"title": "x"}, "title"),
            ({"scope": "secret"}, "scope"),
            ({"authority": "x" * 300}, "authority"),
        ):
            answer = await admin.patch(where, json=body)
            assert answer.status_code == 422 and named in answer.json()["detail"], answer.text
        assert await look(admin, accepted) == before

    async def _is_unknown(self, admin: Client) -> bool:
        listed = (await admin.get("/documents?limit=100")).json()["documents"]
        return not any(one["external_id"].startswith(("new-", "xxx")) for one in listed)


class TestChangingAndDeleting:
    async def test_is_seen_by_the_next_question(self, admin: Client, lan: Client, name: str) -> None:
        accepted = await admin.post("/documents", json=fields(name, text=f"Máy in {name} ở tầng 4."))
        await follow(admin, accepted)
        where, question = f"/documents/{accepted.json()['document_id']}", f"Máy in {name}"
        text = f"Máy in {name} ở tầng 4."
        for change, is_found in (
            ({"scope": "private", "department": "it"}, False),
            ({"department": "hr"}, True),
            ({"effective_from": "2099-01-01"}, False),
            ({"effective_from": None}, True),
        ):
            view = (await admin.patch(where, json=change)).json()
            assert {key: view[key] for key in change} == change
            assert (text in await texts(lan, question)) == is_found, change
        assert (await admin.delete(where)).status_code == 204
        assert text not in await texts(lan, question)
        for path in (where, f"{where}/versions", f"{where}/original"):
            refused(await admin.get(path), 404, "NOT_FOUND")
        refused(await admin.delete(where), 404, "NOT_FOUND")

    async def test_versions_show_what_differs(self, admin: Client, lan: Client, name: str) -> None:
        for number in (12, 14):
            body = fields(name, text=f"# Phép\n\n{number} ngày.", effective_from=f"20{number + 12}-01-01")
            await follow(admin, accepted := await admin.post("/documents", json=body))
        path = f"/documents/{accepted.json()['document_id']}/versions"
        second, first = (await lan.get(path)).json()["versions"]
        assert second["changes"] == [{"removed": ["12 ngày."], "added": ["14 ngày."]}]
        assert second["changed_fields"] == {"effective_from": ["2024-01-01", "2026-01-01"]}
        assert (first["version"], first["is_current"], first["effective_from"]) == (1, False, "2024-01-01")
        asked = {"query": "Phép mấy ngày?", "as_of": "2025-06-01", "limit": 50}
        found = (await lan.post("/search", json=asked)).json()["passages"]
        assert [one["text"] for one in found if one["external_id"] == name] == ["12 ngày."]

    async def test_deleting_ends_what_is_being_worked_on(
        self, admin: Client, house: Services, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        begun, goes_on, made = asyncio.Event(), asyncio.Event(), house.embedder.embed_passages

        async def slow(given: Sequence[str]) -> Vectors:
            begun.set()
            await goes_on.wait()
            return await made(given)

        monkeypatch.setattr(house.embedder, "embed_passages", slow)
        accepted = await send_file(admin, f"Máy in {name}.".encode(), **fields(name))
        await asyncio.wait_for(begun.wait(), 20)
        assert (await admin.delete(f"/documents/{accepted.json()['document_id']}")).status_code == 204
        goes_on.set()
        assert (await follow(admin, accepted))[-1].type == "task_failed"
        owner = (await house.claims_of("acme/admin")).principal()
        async with house.database.principal_scope(owner) as tx:
            gone = UUID(accepted.json()["document_id"])
            for table in ("documents", "document_versions", "document_originals", "chunks"):
                assert await tx.driver.fetchval(f"select count(*) from {table} where document_id = $1", gone) == 0


class TestLooking:
    async def test_lists_by_department_status_and_page(self, admin: Client, lan: Client, name: str) -> None:
        for number in range(3):
            body = fields(f"{name}-{number}", text="Máy in.", department="legal", scope="private")
            await follow(admin, await admin.post("/documents", json=body))
        seen, cursor = [], ""
        while cursor is not None:
            page = (await admin.get(f"/documents?department=legal&status=ready&limit=2{cursor}")).json()
            seen += [one["external_id"] for one in page["documents"]]
            cursor = page["next_cursor"] and f"&cursor={page['next_cursor']}"
        assert seen == [f"{name}-{number}" for number in (2, 1, 0)]
        assert (await lan.get("/documents?department=legal")).json() == {"documents": [], "next_cursor": None}

    async def test_refuses_nonsense(self, lan: Client, subtests: pytest.Subtests) -> None:
        for query in [
            "cursor=garbage",
            "cursor=%00",
            "cursor=WyIyMDI2LTAxLTAxVDAwOjAwOjAwIiwgIjAxOGYwMDAwLTAwMDAtNzAwMC04MDAwLTAwMDAwMDAwMDAwMSJd",
            "limit=0",
            "limit=101",
            "status=x",
        ]:
            with subtests.test(ascii(query)[:80]):
                refused(await lan.get(f"/documents?{query}"), 422, "PAYLOAD_INVALID")
