"""Documents that give orders, and a model that obeys them: what it is told by a document reaches nobody.

Every run is played against the whole house. The asker may read public documents only. A drawn part of the documents is
played, each in one mode; `make chaos` asks for every document in every mode.
"""

import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from app.domain.tasks import ChatRequest
from app.ingestion.planted import Judge
from app.main import Services
from app.reasoning.llm import ModelReasoner
from app.reasoning.llm.reasoner import AnswerMode
from app.settings import Settings
from tests.acceptance.poisoned import (
    ABSENT,
    INJECTIONS,
    deck,
    direct_attacks,
    forbidden_documents,
    hand,
    neighbours,
    poisoned_documents,
    write_seed,
)
from tests.acceptance.poisoned_runs import ASKER, BARE, Tally, checked, count, planned, played
from tests.acceptance.shown import off_list
from tests.fakes.house_mind import house_mind, lines_of, stage_of
from tests.fakes.model_server import (
    Asked,
    Mind,
    ModelServer,
    Reply,
    obedient,
    scripted_model_server,
    unbound_obedient,
)
from tests.fakes.obedient_house import Orders, obedient_house, unbound_obedient_house
from tests.samples import SEED, WHOLE, drawn, size
from tests.warm import warm

pytestmark = pytest.mark.timeout(3600 if WHOLE else 120)
RUNS = size(4, 8)
HANDS = 10
"""How many times so many documents are dealt."""
LEAST_EXPOSED = 0.75
"""Share of the runs in which the model must have read an order: else nothing was tried."""


@pytest.fixture(scope="module")
def tally() -> Iterator[Tally]:
    counted = Tally()
    yield counted
    sys.stdout.write("".join(f"\n{name}: {number}" for name, number in sorted(counted.counts.items())))


@pytest.fixture(scope="module")
async def server() -> AsyncIterator[ModelServer]:
    async with scripted_model_server(house_mind) as opened:
        yield opened


@pytest.fixture(scope="module")
async def house(scratch: Path, server: ModelServer) -> AsyncIterator[Services]:
    """The service over the poisoned documents; bringing them in takes some seconds.

    Planted sentences are not taken out when they arrive: what stands behind that guard is tried here.
    """
    settings = Settings(
        _env_file=None, data_dir=warm(scratch / "poisoned"),
        seed_dir=write_seed(scratch / "poisoned-seed", neighbours(HANDS * RUNS)),
        llm_base_url=server.base_url, llm_model="scripted", enable_caching=False, task_token_budget=0,
        task_call_budget=0,
    )  # fmt: skip
    nothing_is_marked = pytest.MonkeyPatch()
    nothing_is_marked.setattr(Judge, "marks", lambda _self, sentences, _scores: [False] * len(sentences))
    opened = await Services.open(settings)
    for rung in opened.ladder.rungs:
        rung.breaker.threshold = 10**9  # an obedient model fails often, and is asked again all the same
    yield opened
    await opened.aclose()
    nothing_is_marked.undo()


MODES: tuple[AnswerMode, ...] = ("model", "strict")


@pytest.fixture(autouse=True)
def asked_for_everything(house: Services) -> None:
    in_mode(house, "model")


@pytest.fixture(params=MODES)
def mode(house: Services, asked_for_everything: None, request: pytest.FixtureRequest) -> AnswerMode:
    """How much the model is asked: only plan and text, or the answers too."""
    chosen: AnswerMode = request.param
    in_mode(house, chosen)
    return chosen


def in_mode(house: Services, mode: AnswerMode) -> None:
    mind = house.rooms.flow.ports.reasoner
    assert isinstance(mind, ModelReasoner)
    mind.answer_mode = mode


MINDS: tuple[Mind, ...] = (obedient_house, unbound_obedient_house)


class TestDocuments:
    @pytest.mark.parametrize("mind", MINDS, ids=["obedient", "unbound"])
    async def test_order_nothing(
        self, house: Services, server: ModelServer, tally: Tally, mode: AnswerMode, mind: Mind
    ) -> None:
        place = MODES.index(mode) * len(MINDS) + MINDS.index(mind)
        questions = [document.question for document in hand(place * RUNS, RUNS)]
        runs = await played(house, server, mind, questions, await planned(house, server, questions))
        exposed = count(tally, f"{mode}, {mind.__name__}", server, runs)
        checked(house, server, runs)
        assert exposed >= LEAST_EXPOSED * len(runs)

    @pytest.mark.parametrize("mind", [obedient, unbound_obedient])
    async def test_order_nothing_of_a_model_without_sense(
        self, house: Services, server: ModelServer, tally: Tally, mind: Mind
    ) -> None:
        """It takes the house's own words for orders as well."""
        questions = [document.question for document in hand(6 * RUNS, RUNS // 2)]
        runs = await played(house, server, mind, questions)
        count(tally, mind.__name__, server, runs)
        checked(house, server, runs)

    @pytest.mark.parametrize("mind", MINDS, ids=["obedient", "unbound"])
    async def test_order_nothing_in_the_next_turn(
        self, house: Services, server: ModelServer, tally: Tally, mind: Mind
    ) -> None:
        """The first answer was written from a planted document and is a part of the conversation then."""
        documents = [one for one in hand(7 * RUNS, 2 * RUNS) if one.language == "vi"][: RUNS // 2]
        first = await played(house, server, mind, [document.question for document in documents])
        principal = (await house.claims_of(ASKER)).principal()
        sessions = [run.told.task.session_id for run in first]
        asked = ChatRequest(query="Còn ở Đà Lạt thì sao?")
        known = [await house.rooms.flow.recall(principal, session, asked) for session in sessions]
        told = [run.told.answer["answer"][:80] for run in first if run.told.answer.get("answer")]
        kept = "\n".join(message.content for one in known for message in one.history)
        assert told and all(beginning in kept for beginning in told)
        questions = [asked.query] * len(documents)
        plans = await planned(house, server, questions, known)
        runs = await played(house, server, mind, questions, plans, sessions=sessions)
        count(tally, f"next turn, {mind.__name__}", server, runs)
        checked(house, server, runs)
        read = "\n".join(Orders.of(asked).data for asked in server.requests if stage_of(asked) == "plan")
        assert questions[0] in read
        assert not [beginning for beginning in told if beginning in read]

    @pytest.mark.parametrize("mind", MINDS, ids=["obedient", "unbound"])
    async def test_order_nothing_in_a_conversation_that_was_brought_along(
        self, house: Services, server: ModelServer, tally: Tally, mind: Mind
    ) -> None:
        """An answer of before repeats the whole planted text, order and all."""
        documents = [one for one in hand(7 * RUNS, 2 * RUNS) if one.language == "vi"][: RUNS // 2]
        turns = [(("user", one.question), ("assistant", one.text)) for one in documents]
        histories = [[{"role": role, "content": content} for role, content in turn] for turn in turns]
        question = "Còn ở Đà Lạt thì sao?"
        principal = (await house.claims_of(ASKER)).principal()
        asked = [ChatRequest(query=question, history_chat=history) for history in histories]
        known = [await house.rooms.flow.recall(principal, uuid4(), one) for one in asked]
        assert all(one.mark in repr(own.history) for one, own in zip(documents, known, strict=True))
        questions = [question] * len(documents)
        plans = await planned(house, server, questions, known)
        runs = await played(house, server, mind, questions, plans, histories=histories)
        count(tally, f"conversation brought along, {mind.__name__}", server, runs)
        checked(house, server, runs)


class TestQuestions:
    async def test_attack_in_vain(self, house: Services, server: ModelServer, tally: Tally, mode: AnswerMode) -> None:
        """The asker himself tries; what he may not read is not to be had, and no tool he is not offered runs."""
        attacks = drawn(direct_attacks(), RUNS, seed=f"{SEED} {mode}")
        runs = await played(house, server, obedient_house, attacks)
        count(tally, f"direct, {mode}", server, runs)
        checked(house, server, runs)


class TestLogs:
    async def test_order_nothing(self, house: Services, server: ModelServer, tally: Tally) -> None:
        """Lines of a log are untrusted, too."""
        questions = ["Có những lỗi nào trong log của vpn-01?", "Which errors are in the log of vpn-01?"]
        runs = await played(house, server, log_reader, questions, asker="acme/minh")
        count(tally, "logs", server, runs)
        assert all("vpn-01" in run.told.text for run in runs)
        checked(house, server, runs)


class TestAttachedFiles:
    @pytest.mark.parametrize("mind", MINDS, ids=["obedient", "unbound"])
    async def test_order_nothing(
        self, house: Services, server: ModelServer, tally: Tally, mode: AnswerMode, mind: Mind
    ) -> None:
        """A file is somebody else's text, whoever attached it."""
        principal = (await house.claims_of(ASKER)).principal()
        documents = hand(9 * RUNS + MINDS.index(mind) * RUNS // 2, RUNS // 2)
        named = [(f"# {d.title}\n\n{d.text}".encode(), f"{d.name}.txt") for d in documents]
        files = [(await house.attachments.bring_in(principal, *file)).file_id for file in named]
        questions = [document.question for document in documents]
        runs = await played(house, server, mind, questions, files=[str(file) for file in files])
        exposed = count(tally, f"files, {mode}, {mind.__name__}", server, runs)
        for file in files:
            await house.attachments.delete(principal, file)
        called = [action.get("tool") for run in runs for action in run.told.answer["flow_action"]]
        assert "files_tool" in called
        assert exposed
        checked(house, server, runs)


def log_reader(asked: Asked) -> Reply:
    """Plans a search of the logs, and obeys whatever comes."""
    if stage_of(asked) != "plan":
        return obedient_house(asked)
    question = lines_of(asked)[-1]["question"]
    agents = [{"agent": "it", "queries": [question], "tools": ["log_tool", "summary_tool"]}]
    return Reply.json({"kind": "question", "refined_query": question, "chitchat_response": "", "agents": agents})


class TestSetting:
    """That what is not found could have been found."""

    def test_documents_are_more_than_three_hundred(self) -> None:
        assert len(poisoned_documents()) >= 300
        assert len({document.kind for document in poisoned_documents()}) > 200

    def test_every_document_can_be_dealt_and_those_that_are_differ(self) -> None:
        assert sorted(document.name for document in deck()) == sorted(one.name for one in poisoned_documents())
        dealt = {document.name for place in range(HANDS) for document in hand(place * RUNS, RUNS)}
        assert len(dealt) == (len(deck()) if WHOLE else HANDS * RUNS)
        kinds = {document.kind.partition(",")[0] for document in deck()}
        assert {document.kind.partition(",")[0] for document in hand(0, len(kinds))} == kinds

    def test_development_data_is_there(self) -> None:
        if not INJECTIONS.is_dir():
            pytest.skip(ABSENT)
        assert len(poisoned_documents()) == 306 + 28

    def test_the_judge_finds_what_an_obedient_model_says(self) -> None:
        said = [Orders(document.text, "You write the answer.").said(2_000) for document in poisoned_documents()]
        with_address = [text for text in said if "://" in text]
        assert len(with_address) > 150
        assert all(off_list(text, frozenset(), BARE) for text in with_address)

    @pytest.mark.parametrize(
        ("asker", "tenant", "scope"), [("acme/lan", "acme", "private"), ("globex/tom", "globex", "public")]
    )
    async def test_those_with_rights_are_told(
        self, house: Services, server: ModelServer, asker: str, tenant: str, scope: str
    ) -> None:
        secret = next(s for s in forbidden_documents() if (s.tenant, s.department, s.scope) == (tenant, "hr", scope))
        await played(house, server, house_mind, [secret.title], asker=asker)
        assert any(secret.canary in asked.text for asked in server.requests if stage_of(asked) == "compose")
