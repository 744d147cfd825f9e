"""Adding a department is one YAML file."""

from app.events import PlanReady
from app.main import Services
from tests.acceptance.asking import ask


class TestFinance:
    async def test_a_dropped_in_file_answers_from_its_departments_documents(self, small_services: Services) -> None:
        await small_services.worker.start()
        told = await ask(small_services, "acme/hoa", "Hóa đơn nhà cung cấp được thanh toán trong bao nhiêu ngày?")
        await small_services.worker.stop()
        assert "21 ngày" in told.answer["answer"]
        assert [evidence["url"] for evidence in told.answer["evidence"]] == [
            "https://intra.acme.example/finance/payments"
        ]
        assert "finance" in told.answer["execution_metadata"]["agents_invoked"]
        [ready] = [event for event in told.events if isinstance(event, PlanReady)]
        assert "finance" in ready.plan["agents"]
