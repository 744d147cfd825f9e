"""Conflicts over HTTP: what the answer, the trace, the ledger and a second weighing say, and to whom."""

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest

from app.api.conflicts import ResolutionView
from app.api.schemas import EXAMPLES

Client = httpx.AsyncClient
QUESTION = "Nhân viên được nghỉ chăm sóc thú cưng mấy ngày mỗi năm?"
HOLDS: dict[str, Any] = {
    "external_id": "pets-hr", "title": "Quy định nghỉ chăm thú cưng", "department": "hr", "scope": "public",
    "url": "https://intra.acme.example/hr/pets", "effective_from": "2026-09-01",
    "text": "Nhân viên được nghỉ chăm sóc thú cưng 5 ngày mỗi năm.\n",
}  # fmt: skip
OVERRULED: dict[str, Any] = {
    "external_id": "pets-internal", "title": "Thông báo nội bộ Kim Ngân", "department": "general", "scope": "internal",
    "url": "https://intra.acme.example/general/pets-internal", "effective_from": "2024-02-01",
    "text": "Nhân viên được nghỉ chăm sóc thú cưng 3 ngày mỗi năm.\n",
}  # fmt: skip
TRACES = ("Kim Ngân", "pets-internal", "3 ngày")
EVEN = {
    "vi": ("Lớp yoga buổi trưa thu của nhân viên bao nhiêu tiền mỗi tháng?", "hai tài liệu chưa thống nhất", (
        ("Phí lớp yoga A", "Lớp yoga buổi trưa thu của nhân viên 40.000 đồng mỗi tháng.", "40.000"),
        ("Phí lớp yoga B", "Lớp yoga buổi trưa thu của nhân viên 60.000 đồng mỗi tháng.", "60.000"))),
    "en": ("How many days of volunteering leave do employees get each year?", "two documents disagree", (
        ("Volunteering, notice A", "Employees get 2 days of volunteering leave each year.", "2 days"),
        ("Volunteering, notice B", "Employees get 4 days of volunteering leave each year.", "4 days"))),
}  # fmt: skip
"""Question, what the answer says, and two sources of one standing: title, text, claim."""
WEIGHTS = {"domain": 0.35, "scope": 0.25, "recency": 0.25, "relevance": 0.15}
SCOPE_ALONE = {"weights": {"domain": 0, "scope": 3, "recency": 0, "relevance": 0}}


async def bring(admin: Client, body: dict[str, Any]) -> str:
    accepted = (await admin.post("/documents", json=body)).json()
    await admin.get(f"/tasks/{accepted['task_id']}/events")
    return str(accepted["document_id"])


@pytest.fixture(scope="module")
async def documents(client_of: Callable[[str], Client]) -> AsyncIterator[dict[str, str]]:
    """Two rules that disagree, by external_id."""
    admin = client_of("acme/admin")
    made = {body["external_id"]: await bring(admin, body) for body in (HOLDS, OVERRULED)}
    yield made
    for document_id in made.values():
        await admin.delete(f"/documents/{document_id}")


async def ask(client: Client, query: str = QUESTION, **more: Any) -> dict[str, Any]:
    answer: dict[str, Any] = (await client.post("/chat", json={"query": query, **more})).json()
    return answer


@pytest.fixture
async def answer(lan: Client, documents: dict[str, str]) -> dict[str, Any]:
    """What acme/lan is told, who may read both."""
    return await ask(lan)


async def resolve(client: Client, answer: dict[str, Any], body: Any = None) -> dict[str, Any]:
    response = await client.post(f"/tasks/{answer['task_id']}/resolve", json=body)
    assert response.status_code == 200, response.text
    told: dict[str, Any] = response.json()
    return told


async def everything(client: Client, answer: dict[str, Any]) -> str:
    """All the service tells the asker of a run."""
    told = [json.dumps(answer, ensure_ascii=False), json.dumps(await resolve(client, answer), ensure_ascii=False)]
    task_id, session_id = answer["task_id"], answer["session_id"]
    paths = (f"/tasks/{task_id}", f"/tasks/{task_id}/events", f"/sessions/{session_id}", "/conflicts?limit=100")
    told += [(await client.get(path)).text for path in paths]
    return "\n".join(told)


class TestAnswer:
    async def test_says_what_holds_what_speaks_against_it_and_why(self, answer: dict[str, Any]) -> None:
        assert answer["outcome"] == "answered"
        assert "5 ngày" in answer["answer"]
        assert "“Thông báo nội bộ Kim Ngân” nói khác" in answer["answer"] and "3 ngày" in answer["answer"]
        assert {HOLDS["url"], OVERRULED["url"]} <= {evidence["url"] for evidence in answer["evidence"]}
        assert answer["reasoning"].startswith("Ưu tiên kết quả từ HR (cập nhật mới hơn) khi nội dung liên quan")
        assert HOLDS["title"] in answer["reasoning"]

    async def test_event_trace_and_ledger_tell_the_same(self, lan: Client, answer: dict[str, Any]) -> None:
        [action] = [action for action in answer["flow_action"] if action["type"] == "resolver"]
        events = (await lan.get(f"/tasks/{answer['task_id']}/events")).text
        [event] = [json.loads(line[6:]) for line in events.splitlines() if '"conflict_resolved"' in line[:40]]
        assert event["conflicts"] == action["metadata"]["conflicts"] and event["policy"] == action["policy"]
        assert action["resolved_conflicts"] == 1
        assert answer["execution_metadata"]["conflict_resolution_applied"] is True
        [kept] = (await resolve(lan, answer))["conflicts"]
        [told] = event["conflicts"]
        for name in ("winner", "loser"):
            side = kept["before"][name]
            factors = {factor: round(value, 4) for factor, value in side["factors"].items()}
            assert {**{key: side[key] for key in told[name]}, "factors": factors} == told[name]
        assert {key: kept["before"][key] for key in ("margin", "decided", "rule")} == {
            key: told[key] for key in ("margin", "decided", "rule")
        }
        assert kept["before"]["weights"] == action["metadata"]["weights"] == WEIGHTS

    async def test_who_may_not_read_the_overruled_source_learns_nothing_of_it(
        self, client_of: Callable[[str], Client], documents: dict[str, str]
    ) -> None:
        an = client_of("acme/an")
        for asked in (QUESTION, f"{QUESTION} "):
            told = await ask(an, asked)
            assert "5 ngày" in told["answer"]
            whole = await everything(an, told)
            for trace in (*TRACES, documents["pets-internal"]):
                assert trace not in whole

    @pytest.mark.parametrize("language", ["vi", "en"])
    async def test_below_the_threshold_both_sides_are_shown(
        self, lan: Client, client_of: Callable[[str], Client], language: str
    ) -> None:
        question, said, sources = EVEN[language]
        admin, made = client_of("acme/admin"), []
        for number, (title, text, _) in enumerate(sources):
            fields = {"external_id": f"even-{language}-{number}", "title": title, "text": text}
            made.append(await bring(admin, {**HOLDS, **fields, "url": f"https://intra.acme.example/e{number}"}))
        answer = await ask(lan, question)
        assert answer["outcome"] == "conflict" and said in answer["answer"]
        for title, _, claim in sources:
            assert f"“{title}”" in answer["answer"] and claim in answer["answer"]
        assert len(answer["evidence"]) >= len(sources)
        [one] = (await resolve(lan, answer))["conflicts"]
        assert not one["before"]["decided"] and one["conflict_type"] == "contradiction"
        [decided] = (await resolve(lan, answer, {"threshold": 0}))["conflicts"]
        assert decided["after"]["decided"]
        for document_id in made:
            await admin.delete(f"/documents/{document_id}")

    async def test_a_repeated_answer_has_its_conflicts_too(self, lan: Client, answer: dict[str, Any]) -> None:
        again = await ask(lan)
        assert again["execution_metadata"]["cached"] and again["task_id"] != answer["task_id"]
        assert (await resolve(lan, again))["conflicts"] == (await resolve(lan, answer))["conflicts"]


class TestResolve:
    async def test_without_weights_gives_the_verdicts_of_the_run(self, lan: Client, answer: dict[str, Any]) -> None:
        bodies: tuple[Any, ...] = (None, {}, {"weights": WEIGHTS}, {"threshold": 0.1}, {"rules": {}})
        for body in bodies:
            [one] = (await resolve(lan, answer, body))["conflicts"]
            assert one["before"] == one["after"] and not one["winner_changed"]

    async def test_with_other_weights_the_other_side_may_win(
        self, lan: Client, answer: dict[str, Any], documents: dict[str, str]
    ) -> None:
        first = await resolve(lan, answer, SCOPE_ALONE)
        assert await resolve(lan, answer, SCOPE_ALONE) == first
        [one] = first["conflicts"]
        assert one["winner_changed"]
        assert one["after"]["winner"]["document_id"] == documents["pets-internal"]
        assert one["after"]["weights"] == {"domain": 0, "scope": 1, "recency": 0, "relevance": 0}
        assert (one["after"]["margin"], one["after"]["decided"]) == (0.2, True)
        assert [one["after"][side]["score"] for side in ("winner", "loser")] == [0.7, 0.5]
        [narrow] = (await resolve(lan, answer, {**SCOPE_ALONE, "threshold": 0.3}))["conflicts"]
        assert not narrow["after"]["decided"]
        rules = {"priority_by_scope": {"public": 0.9}}
        [other] = (await resolve(lan, answer, {**SCOPE_ALONE, "rules": rules}))["conflicts"]
        assert not other["winner_changed"] and other["after"]["margin"] == 0.2

    async def test_of_a_run_without_conflicts_is_empty(self, lan: Client) -> None:
        small_talk = await ask(lan, "xin chào")
        assert await resolve(lan, small_talk) == {"task_id": small_talk["task_id"], "conflicts": []}

    @pytest.mark.parametrize("user", ["acme/minh", "acme/admin", "globex/jane", "globex/admin"])
    async def test_of_others_is_answered_like_an_unknown_one(
        self, client_of: Callable[[str], Client], answer: dict[str, Any], user: str
    ) -> None:
        unknown = "5f0d5a51-7e57-4b1d-8f0e-3a1c2d4e5f60"
        told = [await client_of(user).post(f"/tasks/{one}/resolve") for one in (answer["task_id"], unknown)]
        assert told[0].status_code == 404 and told[0].text == told[1].text

    @pytest.mark.parametrize(
        "body",
        [
            b'{"weights": {"domain": NaN, "scope": 1, "recency": 1, "relevance": 1}}',
            b'{"weights": {"domain": 1e999, "scope": 1, "recency": 1, "relevance": 1}}',
            {"weights": {"domain": 1}}, {"weights": {**WEIGHTS, "age": 1}}, {"weights": {**WEIGHTS, "scope": -0.1}},
            {"weights": dict.fromkeys(WEIGHTS, 0)}, {"weights": {**WEIGHTS, "scope": "1"}},
            {"weights": {**WEIGHTS, "scope": True}}, {"threshold": 1.5}, {"threshold": -1}, {"threshold": "0.1"},
            {"rules": {"priority_by_scope": {"public": 2}}}, {"rules": {"priority_by_scope": {"secret": 1}}},
            {"rules": {"resolution_strategy": "x"}}, {"model": "x"}, [], "x",
        ],
    )  # fmt: skip
    async def test_anything_else_is_refused(self, lan: Client, answer: dict[str, Any], body: Any) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        refused = await lan.post(
            f"/tasks/{answer['task_id']}/resolve", content=content, headers={"content-type": "application/json"}
        )
        assert (refused.status_code, refused.json()["code"]) == (422, "PAYLOAD_INVALID")

    async def test_the_example_is_what_the_formula_gives(self) -> None:
        [one] = ResolutionView.model_validate(EXAMPLES["resolution"]).conflicts
        for verdict in (one.before, one.after):
            for side in (verdict.winner, verdict.loser):
                total = sum(verdict.weights[name] * factor for name, factor in side.factors.items())
                assert side.score == round(total, 4)
            assert verdict.margin == round(verdict.winner.score - verdict.loser.score, 4)


class TestLedger:
    async def test_lists_own_conflicts_and_an_administrator_sees_figures(
        self, lan: Client, client_of: Callable[[str], Client], answer: dict[str, Any], documents: dict[str, str]
    ) -> None:
        first = (await lan.get("/conflicts?limit=1")).json()["conflicts"]
        assert first[0]["task_id"] == answer["task_id"]
        assert first[0]["verdict"] == (await resolve(lan, answer))["conflicts"][0]["before"]
        assert first[0]["subject"]
        figures = await client_of("acme/admin").get("/conflicts?limit=100")
        [same] = [one for one in figures.json()["conflicts"] if one["task_id"] == answer["task_id"]]
        assert same["verdict"]["margin"] == first[0]["verdict"]["margin"]
        assert same["verdict"]["loser"]["document_id"] == documents["pets-internal"]
        for text in (*TRACES, "thú cưng"):
            assert text not in figures.text
        assert (await client_of("globex/admin").get("/conflicts")).json()["conflicts"] == []

    async def test_a_cursor_that_is_none_is_refused(self, lan: Client) -> None:
        refused = await lan.get("/conflicts?cursor=eHg=")
        assert (refused.status_code, refused.json()["code"]) == (422, "PAYLOAD_INVALID")


class TestAfterwards:
    """Last: these take documents away."""

    async def test_a_source_that_moved_out_of_reach_is_left_out_and_comes_back(
        self, lan: Client, client_of: Callable[[str], Client], answer: dict[str, Any], documents: dict[str, str]
    ) -> None:
        admin, where = client_of("acme/admin"), f"/documents/{documents['pets-internal']}"
        assert (await admin.patch(where, json={"department": "it", "scope": "private"})).status_code == 200
        assert (await resolve(lan, answer, SCOPE_ALONE))["conflicts"] == []
        assert (await lan.get("/conflicts")).json()["conflicts"] == []
        assert (await admin.patch(where, json={"department": "general", "scope": "internal"})).status_code == 200
        assert len((await resolve(lan, answer))["conflicts"]) == 1

    async def test_the_ledger_goes_with_the_conversation(self, lan: Client, answer: dict[str, Any]) -> None:
        assert (await lan.delete(f"/sessions/{answer['session_id']}")).status_code == 204
        listed = (await lan.get("/conflicts?limit=100")).json()["conflicts"]
        assert answer["task_id"] not in {one["task_id"] for one in listed}
        assert (await lan.post(f"/tasks/{answer['task_id']}/resolve")).status_code == 404

    async def test_a_deleted_source_is_left_out(
        self, lan: Client, client_of: Callable[[str], Client], answer: dict[str, Any], documents: dict[str, str]
    ) -> None:
        await client_of("acme/admin").delete(f"/documents/{documents['pets-hr']}")
        assert (await resolve(lan, answer))["conflicts"] == []
