"""The deep flow of one process: its agents, limits and mind on the rooms of the department flow."""

from dataclasses import replace

from app.agents.registry import Solvers
from app.agents.run import StepRunner
from app.flow.deep.context import DeepPorts, Files
from app.flow.deep.graph import DeepFlow
from app.flow.deep.state import Checkpoints, DeepLimits
from app.flow.state import FlowLimits, Ports
from app.main.models import deep_spending_limits
from app.reasoning.budget import StoredLedger
from app.reasoning.deep import DeepReasoner
from app.reasoning.llm import Ladder
from app.reasoning.llm.deep import ModelDeepReasoner
from app.reasoning.local.deep import LocalDeepReasoner
from app.settings import Settings
from app.storage.database import Database

_PREFIX = "deep_"


def open_deep(
    settings: Settings,
    ports: Ports,
    limits: FlowLimits,
    runner: StepRunner,
    ladder: Ladder,
    checkpoints: Checkpoints,
    files: Files,
    database: Database,
) -> DeepFlow:
    """The flow on the same ports and limits as the department flow, but for its own deadline and budget; its tool calls
    are done in this process. Blocks shortly. Raises `FileRefused`."""
    if settings.has_model:
        ports = replace(ports, ledger=StoredLedger(database, deep_spending_limits(settings)))
    limits = limits.model_copy(update={"task_deadline_ms": settings.deep_deadline_ms})
    deep = DeepPorts(deep_mind(settings, ladder), Solvers.load(runner.toolbox), runner, checkpoints, files)
    return DeepFlow(ports, deep, limits, deep_limits(settings))


def deep_mind(settings: Settings, ladder: Ladder) -> DeepReasoner:
    """The rules alone, or the models of `ladder` with the rules behind them."""
    rules = LocalDeepReasoner()
    return ModelDeepReasoner(ladder, rules) if settings.has_model else rules


def deep_limits(settings: Settings) -> DeepLimits:
    """The settings ``deep_…`` as the flow's limits."""
    return DeepLimits(**{name: getattr(settings, _PREFIX + name) for name in DeepLimits.model_fields})
