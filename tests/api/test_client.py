"""The Python client against a real server."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from uuid import UUID, uuid4

import httpx
import pytest

from app.client import AskFailed, AsyncConclave, Conclave, IngestFailed, Progress, Streamed
from app.client.asynchronous import answer_of
from app.errors import AppError, ErrorCode
from tests.api.test_chat import afresh


@pytest.fixture
async def lans(address: str, token_of: Callable[[str], str]) -> AsyncIterator[AsyncConclave]:
    async with AsyncConclave(address, token_of("acme/lan")) as opened:
        yield opened


@pytest.fixture
async def admins(
    address: str, token_of: Callable[[str], str], client_of: Callable[[str], httpx.AsyncClient]
) -> AsyncIterator[AsyncConclave]:
    """An administrator's, who takes away again what was brought in."""
    http = client_of("acme/admin")
    before = await documents_of(http)
    async with AsyncConclave(address, token_of("acme/admin")) as opened:
        yield opened
    for document_id in await documents_of(http) - before:
        assert (await http.delete(f"/documents/{document_id}")).is_success


async def documents_of(http: httpx.AsyncClient) -> set[str]:
    listed = (await http.get("/documents", params={"limit": 100})).json()
    return {one["document_id"] for one in listed["documents"]}


class TestAsking:
    async def test_gives_the_answer_and_goes_on_with_the_conversation(
        self, lans: AsyncConclave, lan: httpx.AsyncClient
    ) -> None:
        answer = await lans.ask(afresh())
        native = (await lan.get(f"/tasks/{answer.task_id}")).json()["result"]
        assert (answer.answer, answer.outcome) == (native["answer"], native["outcome"])
        again = await lans.ask("còn mật khẩu thì sao?", session_id=answer.session_id, agents=["it"])
        assert again.session_id == answer.session_id
        conversation = await lans.session(answer.session_id)
        assert [message.role for message in conversation.messages] == ["user", "assistant"] * 2
        assert answer.session_id in [one.session_id async for one in lans.sessions()]
        await lans.feedback(answer.task_id, 1)
        await lans.erase_session(answer.session_id)
        with pytest.raises(AppError, match="session"):
            await lans.session(answer.session_id)

    async def test_streams_the_text_that_the_answer_has(self, lans: AsyncConclave) -> None:
        told = [event async for event in lans.stream(afresh())]
        assert [event.seq for event in told] == list(range(1, len(told) + 1))
        assert "".join(event.text for event in told) == answer_of(told[-1]).answer

    async def test_answers_from_attached_files(self, lans: AsyncConclave, tmp_path: Path) -> None:
        table = tmp_path / "chi_phi.csv"
        table.write_text("tháng,chi phí\n1,100\n2,250\n", "utf-8")
        assert "350" in (await lans.ask("tổng cột chi phí là bao nhiêu?", files=[table])).answer

    async def test_tells_refusals_by_their_code(self, lans: AsyncConclave) -> None:
        with pytest.raises(AppError) as refused:
            await lans.ask("?" * 100_000)
        assert refused.value.code is ErrorCode.PAYLOAD_INVALID
        with pytest.raises(AppError) as unknown:
            await lans.session(uuid4())
        assert unknown.value.code is ErrorCode.NOT_FOUND

    def test_tells_a_failed_run_with_what_was_saved_of_it(self) -> None:
        told = {"error_code": "AGENT_EXECUTION_FAILED", "error_message": "hr", "fallback_answer": "12 ngày"}
        with pytest.raises(AskFailed) as failed:
            answer_of(Streamed(9, "task_failed", {"answer": told}))
        assert failed.value.code is ErrorCode.AGENT_EXECUTION_FAILED
        assert failed.value.answer["fallback_answer"] == "12 ngày"


class TestDocuments:
    async def test_are_brought_in_stage_by_stage_and_found(self, admins: AsyncConclave, tmp_path: Path) -> None:
        stages: list[Progress] = []
        paper = tmp_path / "umbrella.md"
        paper.write_text("# Mượn ô\n\nMỗi nhân viên được mượn 2 chiếc ô ở quầy lễ tân.\n", "utf-8")
        made = await admins.ingest(
            paper, department="general", scope="public", external_id=f"ô-{uuid4()}", on_progress=stages.append
        )
        found = await admins.search("mượn ô", departments=["general"])
        assert made.document_id in {passage.document_id for passage in found}
        assert stages and made.version == 1

    async def test_that_hold_nothing_are_refused_with_the_reason(self, admins: AsyncConclave, tmp_path: Path) -> None:
        broken = tmp_path / "broken.pdf"
        broken.write_bytes(b"%PDF-1.7 nothing")
        with pytest.raises((IngestFailed, AppError)) as refused:
            await admins.ingest(broken, department="general", scope="public")
        assert refused.value.detail

    async def test_of_others_are_not_brought_in(self, lans: AsyncConclave) -> None:
        with pytest.raises(AppError) as refused:
            await lans.ingest("x", department="hr", scope="public", title="x", url="https://x.example/1",
                              external_id="x-1", created_at="2026-01-01T00:00:00Z")  # fmt: skip
        assert refused.value.code is ErrorCode.PERMISSION_DENIED


class TestWithoutALoop:
    async def test_the_same_is_done_in_plain_code(self, address: str) -> None:
        def plain() -> tuple[str, str, list[UUID]]:
            with Conclave(address) as conclave:
                conclave.sign_in("acme/hoa")
                told = list(conclave.stream(afresh()))
                answer = conclave.ask("mật khẩu dài bao nhiêu ký tự?")
                early = conclave.stream(afresh())
                next(early)
                early.close()  # type: ignore[attr-defined]
                return "".join(one.text for one in told), answer.answer, [s.session_id for s in conclave.sessions()]

        text, answer, sessions = await asyncio.to_thread(plain)
        assert text and "12" in answer and len(sessions) >= 3

    def test_it_must_be_opened(self) -> None:
        with pytest.raises(RuntimeError):
            Conclave().ask("?")
