"""`LocalDeepReasoner`: planner, researcher, expert, critic and finalizer without a language model."""

from app import __version__
from app.domain.deep import Critique, DeepPlan, Report
from app.reasoning.deep import Action, ActRequest, CritiqueRequest, DecomposeRequest, TellRequest
from app.reasoning.local.deep.criticising import criticise
from app.reasoning.local.deep.planning import decompose
from app.reasoning.local.deep.researching import research
from app.reasoning.local.deep.telling import tell
from app.reasoning.local.deep.working import work


class LocalDeepReasoner:
    """Rules read from passages, quantities read from questions; Vietnamese and English. Implements `DeepReasoner`."""

    @property
    def identity(self) -> str:
        """The rules of this release."""
        return f"local-deep/{__version__}"

    async def decompose(self, request: DecomposeRequest) -> DeepPlan:
        """Research steps, one piece of information each, and what to do with them."""
        return decompose(request)

    async def next_action(self, request: ActRequest) -> Action:
        """One more tool call, or the end of the step."""
        return research(request) if request.role == "researcher" else work(request)

    async def criticise(self, request: CritiqueRequest) -> Critique:
        """Whether a plan, a finding or an answer stands up."""
        return criticise(request)

    async def tell(self, request: TellRequest) -> Report:
        """The answer, or that there is none, with the trace."""
        return tell(request)
