"""What every mind of the deep flow keeps, whoever it is: it never raises, and stays within what it was asked."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.domain.deep import Asked, Critique, DeepMessage, DeepPlan, Observation, Report, Research, Working
from app.reasoning.deep import ActRequest, DeepReasoner, Found, Solved, ToolOffer, ToolWish
from app.reasoning.local.deep import LocalDeepReasoner
from tests.conformance import deep_calls as calls
from tests.conformance.asking_models import paid
from tests.conformance.deep_calls import deep_reasoner_to
from tests.fakes.deep_model import deep_model
from tests.fakes.model_server import Fault, obedient, scripted_model_server, unbound_obedient

MINDS = ("good model", "obedient model", "unbound model", "dead model", "local")
OFTEN = settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
_MODELS = {"good model": deep_model, "obedient model": obedient, "unbound model": unbound_obedient}

words = st.text(max_size=200) | st.sampled_from(
    [
        "",
        " ",
        "Đi muộn 5 lần bị trừ bao nhiêu?",
        "1/0",
        "9" * 300,
        "a\x00b\u202e",
        '{"action": 1}',
        "12.5 % của 18 triệu",
    ]
)
some_words = st.lists(words, max_size=4).map(tuple)
texts = words.filter(lambda text: any(map(str.isalnum, text)))
offers = st.lists(
    st.sampled_from([calls.SEARCH, calls.MATH, calls.UNITS, calls.WEB, calls.WIKIPEDIA])
    | st.builds(
        ToolOffer, name=texts, description=words, arguments=st.none() | st.dictionaries(words, st.none() | words)
    ),
    max_size=4,
).map(tuple)  # fmt: skip
findings = st.lists(texts.map(calls.finding), max_size=2).map(tuple)
answered = st.builds(
    lambda tool, query, text, value, found: Observation(
        tool=tool, query=query, text=text if text.strip() else value, value=value, findings=found
    ),
    st.sampled_from(["rag_tool", "math_tool", ""]), words, words, st.just("") | texts, findings,
)  # fmt: skip
"""What has a value has a text as well."""
failed = st.builds(Observation, tool=st.just("rag_tool"), query=words, text=words, failed=st.just(True))
observations = st.lists(answered | failed, max_size=3).map(tuple)
researches = st.builds(
    Research, step=st.integers(1, 9), task=words, text=words, found=st.booleans(), findings=findings,
    observations=observations,
)  # fmt: skip
research = st.lists(researches, max_size=2).map(tuple)
worked = {"steps": some_words, "confidence": st.floats(0, 1), "findings": findings, "observations": observations}
solved = st.builds(Working, answer=texts, text=texts, solved=st.just(True), **worked)
workings = solved | st.builds(Working, answer=words, text=words, solved=st.just(False), **worked)
asked = st.builds(
    Asked, question=texts, language=st.sampled_from(["vi", "en"]), style=st.sampled_from(["sentence", "short"]),
    files=some_words,
)  # fmt: skip
plans = st.builds(
    DeepPlan, question=words, research=some_words, logic=st.lists(words, min_size=1, max_size=3).map(tuple),
    answer_format=words,
)  # fmt: skip
critiques = st.lists(
    st.builds(Critique, of=st.sampled_from(["planner", "researcher", "expert"]), approved=st.booleans(), feedback=words,
              step=st.integers(0, 9)),
    max_size=3,
).map(tuple)  # fmt: skip
messages = st.lists(
    st.builds(DeepMessage, sender=st.just("critic"), receiver=st.just("expert"), content=words), max_size=2
).map(tuple)


@pytest_asyncio.fixture(scope="module", params=MINDS)
async def mind(request: pytest.FixtureRequest) -> AsyncIterator[DeepReasoner]:
    """A model's mind has the rules behind it, as in a house."""
    rules = LocalDeepReasoner()
    if request.param == "local":
        yield rules
        return
    async with scripted_model_server(_MODELS.get(request.param, deep_model)) as server:
        if request.param == "dead model":
            server.fail(Fault.SERVER_ERROR)
        async with deep_reasoner_to((server.base_url, "m"), rules=rules) as opened:
            yield opened


def test_the_identity_is_said(mind: DeepReasoner) -> None:
    assert mind.identity
    assert mind.identity == mind.identity.strip()


class TestPlans:
    @OFTEN
    @given(
        asked=asked,
        researcher=offers,
        expert=offers,
        feedback=words,
        previous=st.none() | plans,
        most=st.integers(0, 6),
    )
    async def test_have_no_more_steps_than_allowed_and_none_is_empty(
        self, mind: DeepReasoner, asked: Asked, researcher: tuple[ToolOffer, ...], expert: tuple[ToolOffer, ...],
        feedback: str, previous: DeepPlan | None, most: int,
    ) -> None:  # fmt: skip
        request = calls.decompose_request(
            asked=asked, researcher=researcher, expert=expert, feedback=feedback, previous=previous,
            max_research_steps=most,
        )  # fmt: skip
        with paid(600):
            plan = await mind.decompose(request)
        assert len(plan.research) <= most
        assert plan.logic
        assert all(step.strip() for step in (*plan.research, *plan.logic))


class TestActions:
    @OFTEN
    @given(data=st.data(), role=st.sampled_from(["researcher", "expert"]), left=st.integers(-1, 3))
    async def test_call_only_what_is_on_offer_and_end_in_the_roles_way(
        self, mind: DeepReasoner, data: st.DataObject, role: str, left: int
    ) -> None:
        base = calls.research_request if role == "researcher" else calls.expert_request
        request: ActRequest = base(
            asked=data.draw(asked), plan=data.draw(plans), task=data.draw(words), tools=data.draw(offers),
            research=data.draw(research), observations=data.draw(observations), messages=data.draw(messages),
            feedback=data.draw(words), calls_left=left,
        )  # fmt: skip
        with paid(600):
            action = await mind.next_action(request)
        match action:
            case ToolWish():
                assert left > 0
                assert action.tool in {offer.name for offer in request.tools}
                assert action.query.strip() or action.arguments
            case Found():
                assert role == "researcher"
                known = sum(len(one.findings) for one in request.observations)
                assert all(0 <= place < known for place in action.findings)
                assert action.text.strip() or not action.found
            case Solved():
                assert role == "expert"
                read = (*request.observations, *(one for step in request.research for one in step.observations))
                known_findings = [finding for one in read for finding in one.findings]
                known_findings += [finding for step in request.research for finding in step.findings]
                assert all(finding in known_findings for finding in action.working.findings)
                assert action.working.answer.strip() or not action.working.solved


class TestVerdicts:
    @OFTEN
    @given(data=st.data(), of=st.sampled_from(["planner", "researcher", "expert"]))
    async def test_are_about_what_was_asked_and_say_why(self, mind: DeepReasoner, data: st.DataObject, of: str) -> None:
        judged = data.draw(researches) if of == "researcher" else None
        request = calls.critique_request(
            of=of, asked=data.draw(asked), plan=data.draw(plans), tools=data.draw(offers), earlier=data.draw(research),
            research=judged, working=data.draw(workings) if of == "expert" else None,
        )  # fmt: skip
        with paid(600):
            critique = await mind.criticise(request)
        assert critique.of == of
        assert critique.step == (judged.step if judged is not None else 0)
        assert bool(critique.feedback.strip()) != critique.approved


class TestReports:
    @OFTEN
    @given(data=st.data(), failure=st.just("") | texts)
    async def test_say_something_and_never_call_a_failure_solved(
        self, mind: DeepReasoner, data: st.DataObject, failure: str
    ) -> None:
        working = data.draw(st.none() | workings)
        request = calls.tell_request(
            asked=data.draw(asked), plan=data.draw(st.none() | plans), research=data.draw(research), working=working,
            critiques=data.draw(critiques), failure=failure,
        )  # fmt: skip
        with paid(600):
            report: Report = await mind.tell(request)
        assert not (report.solved and (failure or working is None or not working.solved))
        assert report.answer.strip()
