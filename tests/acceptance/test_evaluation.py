"""A small dataset run end to end: the real flow, each question with its asker's rights, and nothing left behind."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from app.cli.evaluation.local_app import LocalApp
from app.errors import AppError
from app.evaluation.dataset import Dataset, parsed
from app.evaluation.gates import Gate, check_gates
from app.evaluation.report import Asked, Circumstances, Report, summarise
from app.evaluation.running import Evaluation
from app.flow.graph import DepartmentFlow
from app.main import Services
from app.storage import tenants
from app.tasks.worker import Worker

PAYMENTS, VALUES = "acme-finance-payments", "acme-general-core-values"
GUEST = {"tenant": "acme", "department": "general", "scopes": ["public"]}
OLD, NEW = "https://intra.example/badge-2024", "https://intra.example/badge-2026"
BADGE = "Mất thẻ khách phải trả bao nhiêu?"
BADGES = [
    {"title": "Thẻ khách 2024", "text": "# Thẻ khách\n\nMất thẻ khách phải trả 50.000 đồng.", "url": OLD,
     "effective_from": "2024-01-01"},
    {"title": "Thẻ khách 2026", "text": "# Thẻ khách\n\nMất thẻ khách phải trả 70.000 đồng.", "url": NEW,
     "effective_from": "2026-01-01", "supersedes": OLD, "created_at": "2026-01-01T00:00:00Z"},
]  # fmt: skip
ROWS: list[dict[str, Any]] = [
    {"id": "payments", "asker": "acme/hoa", "question": "Hóa đơn nhà cung cấp được thanh toán trong bao lâu?",
     "expected": {"outcome": ["answered", "partial"], "evidence": [PAYMENTS], "facts": [{"number": 21, "unit": "ngày"}],
                  "agents": ["finance"]}, "department": "finance", "tags": ["number"]},
    {"id": "payments-guest", "asker": GUEST, "question": "Hóa đơn nhà cung cấp được thanh toán trong bao lâu?",
     "expected": {"outcome": "not_found", "must_not_contain": ["21 ngày", "200.000.000"]}, "tags": ["leak"]},
    {"id": "values-next", "asker": "acme/an", "history": ["Giá trị cốt lõi của công ty là gì?"],
     "question": "còn vi phạm giá trị cốt lõi lần đầu thì sao?",
     "expected": {"evidence": [VALUES], "facts": ["trao đổi riêng"]}},
    {"id": "badge", "asker": {"scopes": ["internal"]}, "documents": BADGES, "question": BADGE,
     "expected": {"evidence": [NEW], "facts": ["70.000 đồng"], "must_not_contain": ["50.000 đồng"], "conflict": False}},
    {"id": "badge-2025", "asker": {"scopes": ["internal"]}, "question": BADGE, "as_of": "2025-05-01",
     "expected": {"evidence": [OLD], "facts": ["50.000 đồng"]}},
    {"id": "wrong", "asker": "acme/hoa", "question": "Trưởng bộ phận được chuyển tối đa bao nhiêu phần trăm?",
     "expected": {"facts": ["99%"]}},
    {"id": "waiting", "asker": "acme/hoa", "question": "Ai duyệt thay đổi ngân sách?", "to_review": True},
]  # fmt: skip


def dataset(*rows: dict[str, Any]) -> Dataset:
    return Dataset("house", parsed([json.dumps(row) for row in rows], "house.jsonl"))


def silent(done: int, of: int, title: str) -> None:
    pass


@pytest.fixture(scope="module")
async def house(small_services: Services) -> AsyncIterator[Services]:
    """The small company with a worker and a flow that remembers nothing of other tests."""
    services, flow = small_services, small_services.rooms.flow
    own = DepartmentFlow(flow.ports, flow.limits)
    worker = Worker(services.database, services.rooms.registry, services.rooms.journal, {"chat": own.run})
    await worker.start()
    yield services
    await worker.stop()


@pytest.fixture(scope="module")
async def report(house: Services) -> Report:
    """The report of `ROWS`."""
    datasets = [dataset(*ROWS)]
    async with Evaluation(LocalApp(house), datasets) as evaluation:
        await evaluation.prepare(silent)
        asked = await evaluation.run(3, silent)
    told = Circumstances(
        version="1", mind=house.rooms.flow.ports.reasoner.identity, space="s", settings={},
        concurrency=3, today="2026-11-21",
    )  # fmt: skip
    return summarise(asked, datasets, told, made_at=house.rooms.now(), total_seconds=1.0)


def one(report: Report, name: str) -> Asked:
    return next(asked for asked in report.asked if asked.question.id == name)


class TestEvaluation:
    async def test_right_answers_are_right_and_wrong_ones_wrong(self, report: Report) -> None:
        faults = {asked.question.id: [fault.detail for fault in asked.faults] for asked in report.asked}
        assert faults.pop("wrong") == ["does not say “99%”"]
        assert not any(faults.values()), faults

    async def test_each_is_asked_with_exactly_its_askers_rights(self, report: Report) -> None:
        guest = one(report, "payments-guest").observation
        assert guest.outcome == "not_found" and guest.evidence == ()
        assert report.leak_count == 0

    async def test_own_documents_answer_as_of_their_day(self, report: Report) -> None:
        cited = [one(report, name).observation.evidence[0] for name in ("badge", "badge-2025")]
        assert cited == [NEW, OLD]

    async def test_figures_and_gates(self, report: Report) -> None:
        assert (report.questions, report.to_review) == (6, 1)
        assert report.scores["right"].value == pytest.approx(5 / 6, abs=1e-6)
        assert report.scores["recall"].value == report.scores["routing"].value == 1
        results = check_gates([Gate(metric="leaks", max=0), Gate(metric="facts", min=0.9)], report)
        assert [result.holds for result in results] == [True, False]
        assert Report.model_validate_json(report.model_dump_json()) == report

    async def test_nothing_is_left_behind(self, house: Services, report: Report) -> None:
        async with (await house.storage.open_operator()).operator_scope() as tx:
            assert [tenant.name for tenant in await tenants.tenants(tx) if tenant.name.startswith("evaluation-")] == []
            left = await tx.driver.fetch(
                "select tenant_id, user_id, session_id from sessions except"
                " select s.tenant_id, s.user_id, s.session_id from sessions s join users using (tenant_id, user_id)"
            )
        assert left == []

    async def test_a_dataset_with_a_fault_is_not_asked_at_all(self, house: Services) -> None:
        bad = {**ROWS[0], "id": "b", "asker": "acme/nobody"}
        with pytest.raises(AppError, match=r"house\.jsonl: line 2: There is no user 'acme/nobody'"):
            async with Evaluation(LocalApp(house), [dataset(ROWS[0], bad)]) as evaluation:
                await evaluation.prepare(silent)
