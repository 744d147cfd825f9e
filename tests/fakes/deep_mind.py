"""A scripted mind of the deep flow: what it says depends on what it is asked alone, so that a run that is gone on with
hears the same as one that was never cut."""

from collections.abc import Callable
from dataclasses import dataclass, field

from app.domain.deep import Critique, DeepPlan, Report, Reviewed, Working
from app.reasoning.deep import (
    Action,
    ActRequest,
    CritiqueRequest,
    DecomposeRequest,
    Found,
    Solved,
    TellRequest,
    ToolWish,
)

REJECTED: dict[Reviewed, str] = {
    "planner": "The plan misses the second fact.",
    "researcher": "Look again, in other words.",
    "expert": "Compute it with a tool.",
}


def planned(request: DecomposeRequest) -> DeepPlan:
    """Two research steps and a sum; the first plan has one step too few."""
    tasks = ("first fact", "second fact") if request.feedback else ("first fact",)
    return DeepPlan(question=request.asked.question, research=tasks, logic=("add both",))


def acted(request: ActRequest) -> Action:
    """One tool call, one more when the work was sent back, then done."""
    wanted = 2 if request.feedback else 1
    if len(request.observations) < wanted and request.calls_left:
        tool = "rag_tool" if request.role == "researcher" else "math_tool"
        return ToolWish(tool=tool, query=f"{request.task} ({len(request.observations) + 1})")
    if request.role == "researcher":
        known = sum(len(one.findings) for one in request.observations)
        text = " ".join(one.text for one in request.observations if not one.failed)
        return Found(text=text or "nothing", found=True, findings=tuple(range(known)))
    researched = [finding for one in request.research for finding in one.findings]
    findings = (*researched, *(finding for one in request.observations for finding in one.findings))
    answer = f"{len(request.research)} facts, {len(request.observations)} sums"
    return Solved(working=Working(answer=answer, text=answer, solved=True, confidence=0.9, findings=findings))


def once_each(request: CritiqueRequest) -> Critique:
    """Refuses the first work of every stage, and of the first research step, once."""
    match request.of:
        case "planner":
            approved = len(request.plan.research) != 1
        case "researcher":
            assert request.research is not None
            approved = request.research.step > 1 or len(request.research.observations) > 1
        case "expert":
            assert request.working is not None
            approved = len(request.working.observations) > 1
    return Critique(of=request.of, approved=approved, feedback="" if approved else REJECTED[request.of])


def told(request: TellRequest) -> Report:
    """The expert's answer, or why there is none."""
    trace = "\n".join(f"{one.of}: {'yes' if one.approved else one.feedback}" for one in request.critiques)
    if request.failure or request.working is None:
        return Report(answer=f"No answer: {request.failure}.", reasoning=trace, solved=False)
    return Report(answer=request.working.answer, reasoning=trace, solved=True)


def approving(request: CritiqueRequest) -> Critique:
    """Approves everything."""
    return Critique(of=request.of, approved=True)


def refusing(*stages: Reviewed) -> Callable[[CritiqueRequest], Critique]:
    """A critic to whom the work of these stages is never good enough."""

    def judge(request: CritiqueRequest) -> Critique:
        if request.of in stages:
            return Critique(of=request.of, approved=False, feedback=REJECTED[request.of])
        return approving(request)

    return judge


@dataclass
class ScriptedDeepMind:
    """The four minds as functions; remembers what each was asked."""

    planner: Callable[[DecomposeRequest], DeepPlan] = planned
    actor: Callable[[ActRequest], Action] = acted
    critic: Callable[[CritiqueRequest], Critique] = once_each
    finalizer: Callable[[TellRequest], Report] = told
    plans: list[DecomposeRequest] = field(default_factory=list)
    acts: list[ActRequest] = field(default_factory=list)
    critiques: list[CritiqueRequest] = field(default_factory=list)
    tells: list[TellRequest] = field(default_factory=list)

    identity = "scripted"

    async def decompose(self, request: DecomposeRequest) -> DeepPlan:
        self.plans.append(request)
        return self.planner(request)

    async def next_action(self, request: ActRequest) -> Action:
        self.acts.append(request)
        return self.actor(request)

    async def criticise(self, request: CritiqueRequest) -> Critique:
        self.critiques.append(request)
        return self.critic(request)

    async def tell(self, request: TellRequest) -> Report:
        self.tells.append(request)
        return self.finalizer(request)
