"""Routing among the built-in departments and those of a stranger's files, with and without evidence."""

from collections.abc import Mapping

import pytest

from app.embedding.cached import CachedEmbedder, StoredVectors
from app.reasoning import AgentOffer, Probe
from app.reasoning.local.routing import Router
from tests.unit.reasoning.local.test_chitchat import Broken

LEGAL = AgentOffer(
    name="legal",
    description="contracts, lawsuits, patents",
    tools={"rag_tool": ""},
    exemplars=(
        "Kiểm tra điều khoản hợp đồng với đối tác",
        "Công ty bị kiện thì làm gì?",
        "Đăng ký nhãn hiệu và bằng sáng chế",
        "Reviewing an agreement before signature",
        "Protecting our intellectual property",
    ),
    departments=("legal",),
)


@pytest.fixture(scope="session")
def router(embedder: CachedEmbedder, tmp_path_factory: pytest.TempPathFactory) -> Router:
    kept = StoredVectors(embedder, tmp_path_factory.mktemp("routing"))
    return Router(embedder, kept)


async def routed(
    router: Router, offers: tuple[AgentOffer, ...], query: str, evidence: Mapping[str, float] | None = None
) -> tuple[str, ...]:
    """Among the agents that read documents, as the planner asks."""
    probes = [Probe(query=query, relevance_by_department=dict(evidence or {}))]
    readers = [offer for offer in offers if offer.departments]
    return (await router.route([query], readers, probes))[0]


class TestByLook:
    @pytest.mark.parametrize(
        ("query", "department"),
        [
            ("Xin nghỉ cưới cần báo trước mấy hôm?", "hr"),
            ("Bảng lương của tôi bị sai", "hr"),
            ("Loa của máy tính không phát ra tiếng", "it"),
            ("Có ai đó biết mật khẩu hộp thư của tôi", "it"),
            ("Sứ mệnh của công ty là gì?", "general"),
            ("Hành tinh nào gần Mặt Trời nhất?", "general"),
            ("Nhac toi nop bao cao luc 5 gio", "general"),
            ("luong thang nay bao gio co", "hr"),
            ("how many sick days am I allowed", "hr"),
            ("my touchpad does not react", "it"),
            ("who commanded the fleet at trafalgar", "general"),
            ("what appointments do I have on friday", "general"),
        ],
    )
    async def test_the_department_is_found_without_any_document(
        self, router: Router, offers: tuple[AgentOffer, ...], query: str, department: str
    ) -> None:
        assert (await routed(router, offers, query))[0] == department

    @pytest.mark.parametrize(
        ("query", "department"),
        [
            ("Đối tác vi phạm thỏa thuận thì kiện ở đâu?", "legal"),
            ("Nhãn hiệu của chúng ta hết bảo hộ khi nào?", "legal"),
            ("can a supplier sue us over the agreement", "legal"),
            ("who owns the patents on our inventions", "legal"),
            ("when do I get my salary", "hr"),
            ("VPN báo lỗi kết nối", "it"),
            ("Who discovered the moons of Jupiter?", "general"),
        ],
    )
    async def test_five_exemplars_are_enough_for_a_department_of_a_stranger(
        self, router: Router, offers: tuple[AgentOffer, ...], query: str, department: str
    ) -> None:
        assert (await routed(router, (LEGAL, *offers), query))[0] == department


class TestByEvidence:
    async def test_documents_that_answer_decide_where_the_look_is_open(
        self, router: Router, offers: tuple[AgentOffer, ...]
    ) -> None:
        query = "Điểm kỷ luật được tính như thế nào?"
        assert (await routed(router, offers, query, {"hr": 0.2, "it": 0.1, "general": 0.99}))[0] == "general"
        assert (await routed(router, offers, query, {"hr": 0.99, "it": 0.1, "general": 0.2}))[0] == "hr"

    async def test_documents_that_could_not_be_answered_from_do_not_decide_who_is_first(
        self, router: Router, offers: tuple[AgentOffer, ...]
    ) -> None:
        asked = await routed(router, offers, "Bảng lương của tôi bị sai", {"it": 0.65, "hr": 0.1})
        assert asked == ("hr", "it")

    @pytest.mark.parametrize(("hr", "asked"), [(0.8, ("hr", "it")), (0.89, ("hr",))], ids=["better", "as good"])
    async def test_others_are_asked_where_their_documents_are_better_than_the_owners(
        self, router: Router, offers: tuple[AgentOffer, ...], hr: float, asked: tuple[str, ...]
    ) -> None:
        assert await routed(router, offers, "Tôi còn bao nhiêu ngày nghỉ phép năm?", {"it": 0.9, "hr": hr}) == asked

    @pytest.mark.parametrize(("it", "asked"), [(0.7, {"hr", "it"}), (0.5, {"hr"})], ids=["near", "far"])
    async def test_everybody_whose_documents_come_near_is_asked_what_is_nobodys_own(
        self, router: Router, offers: tuple[AgentOffer, ...], it: float, asked: set[str]
    ) -> None:
        query = "Điểm kỷ luật được tính như thế nào?"
        assert set(await routed(router, offers, query, {"hr": 0.9, "it": it, "general": 0.1})) == asked


class TestWithoutModel:
    async def test_spelling_alone_still_routes(self, offers: tuple[AgentOffer, ...]) -> None:
        kept = StoredVectors(Broken())
        router = Router(Broken(), kept)
        assert (await routed(router, offers, "Quên mật khẩu VPN"))[0] == "it"
        assert (await routed(router, offers, "How many days of annual leave are left?"))[0] == "hr"

    async def test_one_agent_needs_no_comparing(self, offers: tuple[AgentOffer, ...]) -> None:
        kept = StoredVectors(Broken())
        router = Router(Broken(), kept)
        assert await routed(router, (LEGAL,), "anything") == ("legal",)
