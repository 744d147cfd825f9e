"""`ModelDeepReasoner`: planner, critic, finalizer, and one action at a time of researcher and expert, by a language
model; what it fails to do, the rules do, noted in the run's account."""

from app.domain.deep import Critique, DeepPlan, Report
from app.reasoning.deep import Action, ActRequest, CritiqueRequest, DecomposeRequest, DeepReasoner, TellRequest
from app.reasoning.llm import prompts
from app.reasoning.llm.deep import acting, planning, reporting
from app.reasoning.llm.ladder import Ladder
from app.reasoning.llm.structured import or_else


class ModelDeepReasoner:
    """Implements `DeepReasoner`. Every method may do I/O; none raises for what a model says or fails to say."""

    def __init__(self, ladder: Ladder, rules: DeepReasoner):
        """`rules` does what no model could do."""
        self._ladder, self._rules = ladder, rules

    @property
    def identity(self) -> str:
        """Models and prompts, and the rules behind them."""
        models = "+".join(self._ladder.models)
        return f"llm/{models}/{prompts.digest()}/deep/{self._rules.identity}"

    async def decompose(self, request: DecomposeRequest) -> DeepPlan:
        """One call; no document is read."""
        asked = planning.decomposed(self._ladder, request)
        return await or_else(planning.PURPOSE, asked, lambda _: self._rules.decompose(request))

    async def next_action(self, request: ActRequest) -> Action:
        """One call; a tool that is on offer, or the end of the work."""
        asked = acting.acted(self._ladder, request)
        return await or_else(acting.purpose_of(request), asked, lambda _: self._rules.next_action(request))

    async def criticise(self, request: CritiqueRequest) -> Critique:
        """One call."""
        asked = planning.criticised(self._ladder, request)
        return await or_else(planning.REVIEW_PURPOSE, asked, lambda _: self._rules.criticise(request))

    async def tell(self, request: TellRequest) -> Report:
        """One call for an answer that was found; that there is none is said by rule."""
        by_rule = await self._rules.tell(request)
        working = request.working
        if request.failure or working is None or not working.solved:
            return by_rule
        asked = reporting.told(self._ladder, request, working, by_rule)
        return await or_else(reporting.PURPOSE, asked, lambda _: by_rule)
