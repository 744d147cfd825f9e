"""What every evaluation shares: without models unless asked for, what figures depend on, files of their owner only."""

import os
from collections.abc import Sequence
from pathlib import Path

from app import __version__
from app.evaluation.program import fingerprint_of_program
from app.evaluation.report import Circumstances, CorpusTold
from app.main import Services
from app.settings import Settings

_DEEP_SETTINGS = {name for name in Settings.model_fields if name.startswith("deep_")}
_TOLD_SETTINGS = {
    "llm_answer_mode", "max_retries", "enable_caching", "conflict_resolution_threshold", "min_relevance_score",
    "enable_follow_up_questions", "max_queries_per_agent", "enable_parallel_execution", "resolution_rules",
    "resolution_weights", "task_deadline_ms", "task_token_budget",
}  # fmt: skip


def offline(settings: Settings) -> Settings:
    """Without a language model and without the web."""
    return settings.model_copy(
        update={"llm_base_url": "", "llm_model": "", "llm_small_model": "", "web_allowed_hosts": frozenset()}
    )


def circumstances_of(
    services: Services, concurrency: int, corpora: Sequence[CorpusTold] = (), *, is_deep: bool = False
) -> Circumstances:
    """What the figures of a run over these services, or over their deep flow, depend on."""
    rooms = services.rooms
    ports = rooms.flow.ports
    mind = f"{rooms.deep.deep.mind.identity}; {ports.reasoner.identity}" if is_deep else ports.reasoner.identity
    told = _TOLD_SETTINGS | _DEEP_SETTINGS if is_deep else _TOLD_SETTINGS
    return Circumstances(
        version=__version__,
        code=fingerprint_of_program(),
        mind=mind,
        space=ports.corpus.space,
        settings=services.settings.model_dump(mode="json", include=told),
        corpora=tuple(corpora),
        concurrency=concurrency,
        today=rooms.now().date().isoformat(),
    )


def write_owned(path: Path, text: str, *, append: bool = False) -> None:
    """For its owner only: it tells what is in documents."""
    how = os.O_APPEND if append else os.O_TRUNC
    with os.fdopen(
        os.open(path, os.O_WRONLY | os.O_CREAT | how, 0o600), "a" if append else "w", encoding="utf-8"
    ) as file:
        file.write(text)
