"""Asking over HTTP: answers, streams, resuming, hanging up, repeating, stopping, following up."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from itertools import count
from random import Random
from typing import Any

import httpx
import pytest

from app.domain.answer import ErrorAnswer, FinalAnswer
from app.domain.plan import Plan
from app.embedding import Vectors
from app.main import Services
from tests.api.sse_reader import TERMINAL, Seen, events_of

DEMO = "giá trị cốt lõi, muộn có ảnh hưởng đến giá trị nào không"
OWN = ("session_id", "task_id", "outcome")
Client = httpx.AsyncClient
_marks = count(1)


def afresh() -> str:
    """`DEMO` as nobody has written it before, so that it is not answered from memory."""
    return DEMO + "?" * next(_marks)


async def stream(client: Client, method: str, path: str, stop_after: int | None = None, **options: Any) -> list[Seen]:
    """Events of a stream, hanging up after `stop_after` of them."""
    seen: list[Seen] = []
    async with client.stream(method, path, **options) as response:
        assert response.status_code in (200, 204), await response.aread()
        async for event in events_of(response):
            seen.append(event)
            if stop_after is not None and len(seen) >= stop_after:
                break
    return seen


class Gate:
    """Holds every run at its first embedding until it is opened."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.reached = asyncio.Event()


@pytest.fixture
async def gate(house: Services, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Gate]:
    held, embed = Gate(), house.embedder.embed_queries

    async def wait_and_embed(texts: Sequence[str]) -> Vectors:
        held.reached.set()
        await held.open.wait()
        return await embed(texts)

    monkeypatch.setattr(house.embedder, "embed_queries", wait_and_embed)
    yield held
    held.open.set()


class TestChat:
    async def test_answers_in_the_seed_shape(self, lan: Client) -> None:
        response = await lan.post("/chat", json={"query": DEMO})
        answer = response.json()
        assert response.status_code == 200
        read = FinalAnswer.model_validate({name: item for name, item in answer.items() if name not in OWN})
        assert list(answer) == [*read.model_dump(exclude_unset=True), *OWN]
        assert answer["outcome"] in ("answered", "conflict") and read.evidence
        assert {"Khách hàng trước tiên", "Kỷ luật"} <= {
            part for part in ("Khách hàng trước tiên", "Kỷ luật") if part in read.answer
        }

    async def test_shows_the_task_behind_an_answer(self, lan: Client) -> None:
        answer = (await lan.post("/chat", json={"query": afresh()})).json()
        task = (await lan.get(f"/tasks/{answer['task_id']}")).json()
        assert (task["status"], task["kind"], task["session_id"]) == ("completed", "chat", answer["session_id"])
        assert Plan.model_validate(task["plan"]).steps
        assert len(task["children"]) == len(Plan.model_validate(task["plan"]).steps)
        assert task["metadata"]["performance_metrics"]["query_processing_time_ms"] >= 0
        assert task["flow_action"] == answer["flow_action"]
        child = (await lan.get(f"/tasks/{task['children'][0]['task_id']}")).json()
        assert child["parent_task_id"] == task["task_id"]

    async def test_narrowed_context_hides_what_it_gives_up(self, lan: Client) -> None:
        asked = {"query": DEMO, "user_context": {"permissions": ["public"], "department": "hr", "tenant_id": "acme"}}
        answer = (await lan.post("/chat", json=asked)).json()
        assert {evidence["scope"] for evidence in answer["evidence"]} <= {"public"}

    async def test_narrowed_agents_are_the_only_ones(self, lan: Client) -> None:
        asked = {"query": DEMO, "agents": {"general": {"desc": "", "tools": [{"name": "rag_tool"}]}}}
        answer = (await lan.post("/chat", json=asked)).json()
        assert set(answer["execution_metadata"]["agents_invoked"]) <= {"general"}

    async def test_keeps_a_conversation(self, lan: Client) -> None:
        first = (await lan.post("/chat", json={"query": "Đi muộn thì bị xử lý thế nào?"})).json()
        asked = {"query": "xin chào", "session_id": first["session_id"]}
        second = (await lan.post("/chat", json=asked)).json()
        assert second["session_id"] == first["session_id"] and second["task_id"] != first["task_id"]
        session = (await lan.get(f"/sessions/{first['session_id']}")).json()
        assert [message["role"] for message in session["messages"]] == ["user", "assistant", "user", "assistant"]
        assert session["messages"][0]["content"] == "Đi muộn thì bị xử lý thế nào?"
        assert session["messages"][3]["content"] == second["answer"]

    async def test_plans_without_running(self, lan: Client) -> None:
        found = (await lan.post("/plans", json={"query": DEMO})).json()
        assert {"general", "hr"} <= set(Plan.model_validate(found["plan"]).agents)
        assert found["token_estimate"] > 0 and found["user_access"] == ["internal", "private", "public"]
        small_talk = (await lan.post("/plans", json={"query": "xin chào"})).json()
        assert small_talk["plan"]["is_chitchat"] is True and small_talk["token_estimate"] == 0


class TestStream:
    async def test_tells_the_run_and_ends_once(self, lan: Client) -> None:
        seen = await stream(lan, "POST", "/chat/stream", json={"query": DEMO})
        assert [event.seq for event in seen] == list(range(1, len(seen) + 1))
        assert seen[0].type == "task_available" and seen[0].data.keys() >= {"task_id", "session_id"}
        assert [event.type in TERMINAL for event in seen] == [False] * (len(seen) - 1) + [True]
        assert (
            "".join(event.data["text"] for event in seen if event.type == "text_delta")
            == seen[-1].data["answer"]["answer"]
        )

    async def test_progress_is_the_seed_object(self, lan: Client) -> None:
        progress = [
            event.data
            for event in await stream(lan, "POST", "/chat/stream", json={"query": DEMO})
            if event.type == "progress"
        ]
        assert all(set(data) == {"node", "output"} for data in progress)
        assert progress[0]["output"]["processing_status"] == "plan_ready"
        assert progress[0]["output"]["progress_percentage"] == 75
        assert progress[-1]["output"]["processing_status"] == "ready_for_resolution"
        assert progress[-1]["output"]["progress_percentage"] == 95

    async def test_resumes_anywhere_without_gap_or_double(self, lan: Client) -> None:
        whole = await stream(lan, "POST", "/chat/stream", json={"query": DEMO})
        path, random = f"/tasks/{whole[0].data['task_id']}/events", Random(20261121)
        for cut in [0, 1, len(whole) - 1, len(whole), *(random.randint(0, len(whole)) for _ in range(60))]:
            by_header = await stream(lan, "GET", path, headers={"Last-Event-ID": str(cut)})
            assert whole[:cut] + by_header == whole, f"cut at {cut}"
        assert await stream(lan, "GET", f"{path}?after={len(whole) - 1}") == whole[-1:]

        assert (await lan.get(path, headers={"Last-Event-ID": str(len(whole))})).status_code == 204

    async def test_takes_an_unreadable_last_event_id_for_the_beginning(
        self, lan: Client, subtests: pytest.Subtests
    ) -> None:
        for strange in ["", "abc", "-1", "1e3", "９", "9" * 9, "9" * 40, "1, 2"]:
            with subtests.test(ascii(strange)[:80]):
                task_id = (await lan.post("/chat", json={"query": "xin chào"})).json()["task_id"]
                headers = [(b"Last-Event-ID", strange.encode())]
                seen = await stream(lan, "GET", f"/tasks/{task_id}/events", headers=headers)
                assert seen[0].seq == 1 and seen[-1].type == "final_report"

    async def test_cut_while_it_runs_loses_nothing(self, lan: Client, gate: Gate) -> None:
        [first] = await stream(lan, "POST", "/chat/stream", stop_after=1, json={"query": DEMO})
        gate.open.set()
        rest = await stream(lan, "GET", f"/tasks/{first.data['task_id']}/events", headers={"Last-Event-ID": "1"})
        assert [event.seq for event in [first, *rest]] == list(range(1, len(rest) + 2))
        assert rest[-1].type == "final_report"

    async def test_many_readers_see_the_same(self, lan: Client, gate: Gate) -> None:
        [first] = await stream(lan, "POST", "/chat/stream", stop_after=1, json={"query": DEMO})
        path = f"/tasks/{first.data['task_id']}/events"
        readers = [asyncio.ensure_future(stream(lan, "GET", path)) for _ in range(8)]
        await asyncio.sleep(0.1)
        gate.open.set()
        told = await asyncio.gather(*readers)
        assert all(seen == told[0] for seen in told) and told[0][-1].type in TERMINAL


class TestHangingUp:
    @pytest.mark.parametrize("path", ["/chat", "/chat/stream"])
    async def test_does_not_stop_the_run(self, lan: Client, gate: Gate, path: str) -> None:
        headers = {"Idempotency-Key": f"hung-up{path.replace('/', '-')}"}
        asked = {"query": afresh()}
        asking = asyncio.ensure_future(lan.post(path, json=asked, headers=headers))
        await asyncio.wait_for(gate.reached.wait(), 10)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        await asyncio.sleep(0.2)
        gate.open.set()
        seen = await stream(lan, "POST", "/chat/stream", json=asked, headers=headers)
        assert seen[-1].type == "final_report"
        assert "redispatched" not in {event.type for event in seen}


class TestRepeating:
    async def test_the_same_key_gives_the_first_answer(self, lan: Client) -> None:
        headers = {"Idempotency-Key": "once-1"}
        first = await lan.post("/chat", json={"query": "xin chào"}, headers=headers)
        again = await lan.post("/chat", json={"query": "xin chào"}, headers=headers)
        assert first.json() == again.json()

    async def test_the_same_key_for_another_question_is_refused(self, lan: Client) -> None:
        headers = {"Idempotency-Key": "once-2"}
        await lan.post("/chat", json={"query": "xin chào"}, headers=headers)
        for other in ({"query": "cảm ơn"}, {"query": "xin chào", "user_context": {"permissions": ["public"]}}):
            answer = await lan.post("/chat", json=other, headers=headers)
            assert (answer.status_code, answer.json()["code"]) == (422, "IDEMPOTENCY_MISMATCH")

    async def test_many_at_once_start_one_run(self, lan: Client, gate: Gate) -> None:
        headers = {"Idempotency-Key": "once-3"}
        asked = {"query": afresh()}
        waiting = [asyncio.ensure_future(lan.post("/chat", json=asked, headers=headers)) for _ in range(12)]
        await asyncio.wait_for(gate.reached.wait(), 10)
        done, _ = await asyncio.wait(waiting, timeout=3)
        gate.open.set()
        answers = await asyncio.gather(*waiting)
        refused = [answer for answer in answers if answer.status_code == 409]
        accepted = [answer for answer in answers if answer.status_code == 200]
        assert len(accepted) == 1 and len(refused) == 11 and len(done) == 11
        assert {answer.json()["code"] for answer in refused} == {"CONFLICT_IN_FLIGHT"}
        assert all(answer.headers["retry-after"] for answer in refused)
        attached = await stream(lan, "POST", "/chat/stream", json=asked, headers=headers)
        assert attached[0].data["task_id"] == accepted[0].json()["task_id"]

    async def test_a_key_belongs_to_one_person(self, client_of: Callable[[str], Client]) -> None:
        headers = {"Idempotency-Key": "once-4"}
        users = ("acme/lan", "acme/minh", "globex/jane")
        answers = [await client_of(user).post("/chat", json={"query": "hello"}, headers=headers) for user in users]
        assert len({answer.json()["task_id"] for answer in answers}) == 3


class TestStopping:
    async def test_ends_the_run_with_one_terminal_event(self, lan: Client, gate: Gate) -> None:
        waiting = asyncio.ensure_future(lan.post("/chat", json={"query": afresh()}))
        await asyncio.wait_for(gate.reached.wait(), 10)
        [session] = (await lan.get("/sessions?limit=1")).json()["sessions"]
        assert session["status"] == "running"
        [first] = await stream(lan, "POST", "/chat/stream", stop_after=1, json={"query": afresh()})
        task_id = first.data["task_id"]
        stopped = await lan.post(f"/tasks/{task_id}/cancel")
        assert (stopped.status_code, stopped.json()["status"]) == (200, "cancelled")
        assert (await lan.post(f"/tasks/{task_id}/cancel")).json()["status"] == "cancelled"
        seen = await stream(lan, "GET", f"/tasks/{task_id}/events")
        assert [event.type for event in seen if event.type in TERMINAL] == ["task_cancelled"]
        gate.open.set()
        assert (await waiting).status_code == 200

    async def test_answers_the_waiting_caller_with_the_error_shape(self, lan: Client, gate: Gate) -> None:
        headers = {"Idempotency-Key": "stopped-1"}
        asked = {"query": afresh()}
        waiting = asyncio.ensure_future(lan.post("/chat", json=asked, headers=headers))
        await asyncio.wait_for(gate.reached.wait(), 10)
        [first] = await stream(lan, "POST", "/chat/stream", stop_after=1, json=asked, headers=headers)
        await lan.post(f"/tasks/{first.data['task_id']}/cancel")
        answer = await waiting
        body = answer.json()
        assert (answer.status_code, body["error_code"], body["task_id"]) == (
            409,
            "TASK_CANCELLED",
            first.data["task_id"],
        )
        ErrorAnswer.model_validate({name: item for name, item in body.items() if name not in OWN})

    async def test_a_finished_run_stays_as_it_is(self, lan: Client) -> None:
        answer = (await lan.post("/chat", json={"query": "xin chào"})).json()
        assert (await lan.post(f"/tasks/{answer['task_id']}/cancel")).json()["status"] == "completed"


class TestSessions:
    async def test_are_paged_without_gap_or_double(self, client_of: Callable[[str], Client]) -> None:
        hoa = client_of("acme/hoa")
        made = [(await hoa.post("/chat", json={"query": "xin chào"})).json()["session_id"] for _ in range(5)]
        listed, cursor = list[str](), ""
        while True:
            page = (await hoa.get("/sessions", params={"limit": 2, **({"cursor": cursor} if cursor else {})})).json()
            listed += [item["session_id"] for item in page["sessions"]]
            cursor = page["next_cursor"]
            if not cursor:
                break
        assert listed[:5] == made[::-1] and len(set(listed)) == len(listed)

    async def test_are_erased_with_their_runs(self, client_of: Callable[[str], Client]) -> None:
        an = client_of("acme/an")
        answer = (await an.post("/chat", json={"query": "xin chào"})).json()
        assert (await an.delete(f"/sessions/{answer['session_id']}")).status_code == 204
        for path in (f"/sessions/{answer['session_id']}", f"/tasks/{answer['task_id']}"):
            assert (await an.get(path)).status_code == 404
        assert (await an.delete(f"/sessions/{answer['session_id']}")).status_code == 404


class TestTools:
    async def test_answer_over_http_with_evidence(self, lan: Client, subtests: pytest.Subtests) -> None:
        for question, said, source in [
            ("tính 2+4 = ??", "2 + 4 = 6", "mcp"),
            ("15% của 32 triệu là bao nhiêu?", "4.800.000", "mcp"),
            ("từ 3/2 đến 30/4/2026 có bao nhiêu ngày làm việc?", "56 ngày làm việc", "mcp"),
            ("100 °F là bao nhiêu độ C", "37,78 °C", "math"),
        ]:
            with subtests.test(ascii((question, said, source))[:80]):
                response = await lan.post("/chat", json={"query": question})
                answer = response.json()
                assert response.status_code == 200
                assert said in answer["answer"]
                assert [one["source_type"] for one in answer["evidence"]] == [source]
                assert answer["outcome"] == "answered"
