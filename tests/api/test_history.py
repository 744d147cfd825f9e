"""Own conversations over HTTP: renamed, pinned, archived, searched; those that programs made are told apart."""

from collections.abc import Callable
from typing import Any

import httpx
import openai
import pytest

from tests.api.test_mcp_server import Connect, connect
from tests.api.test_openai import client

__all__ = ["client", "connect"]  # fixtures
Client = httpx.AsyncClient
UNKNOWN = "/sessions/5f0d5a51-7e57-4b1d-8f0e-3a1c2d4e5f60"


async def ask(http: Client, query: str = "Đi muộn bị xử lý thế nào?") -> str:
    answer = await http.post("/chat", json={"query": query})
    assert answer.status_code == 200, answer.text
    return str(answer.json()["session_id"])


async def listed(http: Client, **params: Any) -> list[dict[str, Any]]:
    answer = await http.get("/sessions", params={"limit": 100, **params})
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["sessions"]
    return found


async def ids(http: Client, **params: Any) -> list[str]:
    return [one["session_id"] for one in await listed(http, **params)]


@pytest.fixture
async def hoa(client_of: Callable[[str], Client]) -> Client:
    return client_of("acme/hoa")


class TestChanging:
    async def test_renames_pins_and_archives(self, hoa: Client) -> None:
        older, newer = await ask(hoa), await ask(hoa, "xin chào")
        changed = await hoa.patch(f"/sessions/{older}", json={"title": "  Đi\u200b \n muộn  ", "pinned": True})
        assert changed.status_code == 200
        shown = changed.json()
        assert (shown["title"], shown["pinned"], shown["archived"], shown["origin"]) == ("Đi muộn", True, False, "page")
        assert shown["messages"] is None
        whole = (await hoa.get(f"/sessions/{older}")).json()
        assert (whole["title"], whole["pinned"], len(whole["messages"])) == ("Đi muộn", True, 2)
        assert (await ids(hoa))[:2] == [older, newer]
        await hoa.patch(f"/sessions/{older}", json={"archived": True})
        assert older not in await ids(hoa) and older not in await ids(hoa, q="muon")
        assert await ids(hoa, archived=True) == [older]
        back = await hoa.patch(f"/sessions/{older}", json={"archived": False, "pinned": False})
        assert (back.json()["title"], back.json()["archived"]) == ("Đi muộn", False)
        assert (await ids(hoa))[0] == newer

    async def test_refuses_what_says_nothing(self, hoa: Client, subtests: pytest.Subtests) -> None:
        session_id = await ask(hoa, "xin chào")
        bodies: tuple[Any, ...] = (
            {}, {"title": None}, {"title": ""}, {"title": " \u200b\n"}, {"title": "x" * 201}, {"title": "a\x00b"},
            {"pinned": 1}, {"archived": "true"}, {"title": "x", "owner": "me"}, {"status": "running"}, [],
        )  # fmt: skip
        for body in bodies:
            with subtests.test(ascii(body)[:60]):
                answer = await hoa.patch(f"/sessions/{session_id}", json=body)
                assert (answer.status_code, answer.json()["code"]) == (422, "PAYLOAD_INVALID")
        assert (await hoa.get(f"/sessions/{session_id}")).json()["title"] == "xin chào"
        longest = await hoa.patch(f"/sessions/{session_id}", json={"title": f" {'đ' * 200} "})
        assert longest.json()["title"] == "đ" * 200

    async def test_is_the_owners_alone(self, hoa: Client, client_of: Callable[[str], Client]) -> None:
        session_id = await ask(hoa, "xin chào")
        for user in ("acme/lan", "acme/admin", "globex/admin"):
            told = [
                await client_of(user).patch(path, json={"title": "x"}) for path in (f"/sessions/{session_id}", UNKNOWN)
            ]
            assert {one.status_code for one in told} == {404} and told[0].json() == told[1].json()
        nobody = await client_of("").patch(f"/sessions/{session_id}", json={"title": "x"})
        assert nobody.status_code == 401
        assert (await hoa.get(f"/sessions/{session_id}")).json()["title"] == "xin chào"


class TestSearching:
    async def test_finds_question_and_answer_with_a_snippet(self, hoa: Client) -> None:
        session_id = await ask(hoa, "Gửi xe ở đâu vậy nhỉ?")
        [found] = await listed(hoa, q="gui xe o dau vay")
        assert (found["session_id"], found["snippet"]) == (session_id, "Gửi xe ở đâu vậy nhỉ?")
        answer = (await hoa.get(f"/sessions/{session_id}")).json()["messages"][1]["content"]
        told = answer.replace("**", "").split()
        by_answer = [one for one in await listed(hoa, q=" ".join(told[2:5])) if one["session_id"] == session_id]
        assert by_answer and 0 < len(by_answer[0]["snippet"]) <= 160
        assert {one["snippet"] for one in await listed(hoa)} == {None}

    async def test_pages_and_refuses_cursors_of_other_lists(self, hoa: Client) -> None:
        made = [await ask(hoa, f"xin chào đồng nghiệp {number}") for number in range(3)]
        seen, cursor = [], None
        for _ in range(3):
            params: dict[str, Any] = {"q": "dong nghiep", "limit": 1} | ({} if cursor is None else {"cursor": cursor})
            page = (await hoa.get("/sessions", params=params)).json()
            seen += [one["session_id"] for one in page["sessions"]]
            cursor = page["next_cursor"]
        assert (seen, cursor) == (made[::-1], None)
        for strange in ("bm9uZQ==", "x"):
            assert (await hoa.get("/sessions", params={"cursor": strange})).status_code == 422

    async def test_without_a_word_finds_nothing_and_without_a_text_all(self, hoa: Client) -> None:
        await ask(hoa, "xin chào")
        assert await ids(hoa, q="?!") == []
        assert await ids(hoa, q="  ") == await ids(hoa)


class TestOrigin:
    async def test_of_what_programs_ask_is_api(
        self, lan: Client, client: openai.AsyncOpenAI, address: str, connect: Connect
    ) -> None:
        before = set(await ids(lan, origin="api"))
        got = await client.chat.completions.create(model="auto", messages=[{"role": "user", "content": "xin chào"}])
        by_v1 = got.model_dump()["conclave"]["session_id"]
        async with connect("acme/lan") as mcp:
            told = await mcp.call_tool("ask", {"question": "xin chào"})
        by_mcp = (told.structured_content or {})["session_id"]
        agui = {
            "threadId": "origin", "runId": "origin", "state": {}, "tools": [], "context": [], "forwardedProps": {},
            "messages": [{"id": "m", "role": "user", "content": "xin chào"}],
        }  # fmt: skip
        assert (await lan.post(f"{address}/ag-ui", json=agui)).status_code == 200
        a2a = {
            "jsonrpc": "2.0", "id": 1, "method": "SendMessage",
            "params": {"message": {"messageId": "origin", "role": "ROLE_USER", "parts": [{"text": "xin chào"}]}},
        }  # fmt: skip
        assert (await lan.post(f"{address}/a2a", json=a2a)).status_code == 200
        ui = {"id": "origin-ui", "messages": [{"id": "m", "role": "user", "parts": [{"type": "text", "text": "chào"}]}]}
        assert (await lan.post(f"{address}/ui/chat", json=ui)).status_code == 200
        by_page = await ask(lan, "xin chào")
        made = set(await ids(lan, origin="api")) - before
        assert len(made) == 5 and {by_v1, by_mcp} < made
        on_the_page = await ids(lan, origin="page")
        assert by_page in on_the_page and not made & set(on_the_page)
        assert made | {by_page} <= set(await ids(lan))
        assert (await lan.get("/sessions", params={"origin": "cli"})).status_code == 422

    async def test_stays_who_began(self, lan: Client, client: openai.AsyncOpenAI) -> None:
        session_id = await ask(lan, "xin chào")
        asked: Any = {"role": "user", "content": "xin chào"}
        await client.chat.completions.create(model="auto", messages=[asked], metadata={"session_id": session_id})
        assert (await lan.get(f"/sessions/{session_id}")).json()["origin"] == "page"

    async def test_of_a_key_is_api_on_the_native_routes_too(self, lan: Client) -> None:
        key = (await lan.post("/keys", json={"name": "a script", "expires_in_days": 1})).json()
        async with httpx.AsyncClient(
            base_url=lan.base_url, headers={"Authorization": f"Bearer {key['key']}"}, timeout=30
        ) as script:
            session_id = await ask(script, "xin chào")
        assert session_id in await ids(lan, origin="api") and session_id not in await ids(lan, origin="page")
        await lan.delete(f"/keys/{key['key_id']}")
