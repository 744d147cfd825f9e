"""GAIA questions over the real flow: attached files, the asker's rights, a run that is taken up again, nothing left."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import app.cli.evaluation  # noqa: F401, the command loads the extra; the other way round is a circle
from app.main import Services
from app.tasks.worker import Worker
from extras.gaia.house import LocalDeepHouse
from extras.gaia.kept import kept_answers
from extras.gaia.question import GaiaSet, open_set
from extras.gaia.report import GaiaAnswer
from extras.gaia.running import GaiaRun

ROWS = [
    {"task_id": "sum", "Question": "Tổng cột Số tiền trong tệp đính kèm là bao nhiêu?", "Level": 1,
     "Final answer": "350000", "file_name": "chi.csv", "asker": "acme/hoa"},
    {"task_id": "sound", "Question": "What is said here?", "Level": 1, "Final answer": "yes", "file_name": "a.mp3"},
    {"task_id": "open", "Question": "Giá trị cốt lõi của công ty là gì?", "Level": 2, "Final answer": "?"},
]  # fmt: skip


def silent(done: int, of: int, title: str) -> None:
    pass


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> GaiaSet:
    """`ROWS` in a file, with their files beside it."""
    folder = tmp_path_factory.mktemp("gaia")
    (folder / "chi.csv").write_text("Ngày,Số tiền\n01/10/2026,150000\n02/10/2026,200000\n", "utf-8")
    (folder / "a.mp3").write_bytes(b"ID3\x04\x00\x00\x00\x00\x00\x00" + bytes(200))
    path = folder / "rows.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in ROWS), "utf-8")
    return open_set(str(path))


@pytest.fixture(scope="module")
async def answers(small_services: Services, asked: GaiaSet) -> AsyncIterator[dict[str, GaiaAnswer]]:
    """What the small company says to `ROWS`."""
    services, rooms = small_services, small_services.rooms
    worker = Worker(services.database, rooms.registry, rooms.journal, {"chat": rooms.deep.run})
    await worker.start()
    run = GaiaRun(LocalDeepHouse(services), asked, asker="acme/an")
    await run.prepare()
    found = await run.run(2, silent, lambda one: None)
    yield {one.task_id: one for one in found}
    await worker.stop()


class TestGaiaOverTheRealFlow:
    async def test_an_attached_table_is_computed_with(self, answers: dict[str, GaiaAnswer]) -> None:
        one = answers["sum"]
        assert (one.error, one.asker, one.language) == ("", "acme/hoa", "vi"), one.answer
        assert "350000" in one.answer
        assert one.steps >= 3 and one.tool_calls >= 1 and one.reasoning
        assert all(any(name in line for line in one.trace) for name in ("planner", "expert", "critic", "finalizer"))

    async def test_a_file_that_cannot_be_read_makes_its_question_wrong(self, answers: dict[str, GaiaAnswer]) -> None:
        one = answers["sound"]
        assert one.right is False and one.error.startswith("DOCUMENT_REJECTED: ")

    async def test_what_is_not_published_is_asked_and_not_scored(self, answers: dict[str, GaiaAnswer]) -> None:
        assert answers["open"].right is None and answers["open"].answer

    async def test_answers_are_kept_failures_are_asked_again(
        self, answers: dict[str, GaiaAnswer], asked: GaiaSet, tmp_path: Path
    ) -> None:
        path = tmp_path / "answers.jsonl"
        path.write_text("".join(one.model_dump_json() + "\n" for one in answers.values()), "utf-8")
        assert kept_answers(path, asked.questions, "deep").keys() == {"sum", "open"}

    async def test_nothing_is_left_behind(self, small_services: Services, answers: dict[str, GaiaAnswer]) -> None:
        async with (await small_services.storage.open_operator()).operator_scope() as tx:
            left = await tx.driver.fetch(
                "select tenant_id, user_id from sessions except"
                " select s.tenant_id, s.user_id from sessions s join users using (tenant_id, user_id)"
            )
            files = await tx.driver.fetchval("select count(*) from attachments")
        assert left == [] and files == 0
