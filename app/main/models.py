"""The language models of the settings, best first, and what may be spent on them."""

import asyncio
from dataclasses import replace
from uuid import uuid4

from app.domain.principal import Principal
from app.errors import AppError, ErrorCode
from app.reasoning.budget import Account, Limits, NoLedger, charged_to
from app.reasoning.llm import Ladder, Rung, TimeLimits
from app.reasoning.llm.prompts import load
from app.reasoning.llm.request import CallOutcome, ModelFailed, Prices, Request
from app.settings import Settings

_PROBE_TOKENS = 500
"""Models that think before they speak need room for both."""


def open_ladder(settings: Settings) -> Ladder:
    """The configured models; sends nothing. Raises `AppError` when a model is half configured."""
    if not settings.llm_model:
        detail = "CONCLAVE_LLM_BASE_URL is set but no model: set CONCLAVE_LLM_MODEL to the endpoint's name of one."
        raise AppError(ErrorCode.PAYLOAD_INVALID, detail)
    rungs = [_rung(settings, settings.llm_base_url, settings.llm_model, settings.llm_api_key.get_secret_value())]
    if settings.llm_small_model:
        url = settings.llm_small_base_url or settings.llm_base_url
        own_key = settings.llm_small_api_key.get_secret_value()
        # A key goes to the address it was given for and nowhere else.
        key = own_key or (settings.llm_api_key.get_secret_value() if url == settings.llm_base_url else "")
        rungs.append(_rung(settings, url, settings.llm_small_model, key))
    return Ladder(rungs)


async def probe(ladder: Ladder, principal: Principal) -> dict[str, str]:
    """Ask every model for one word, unpaid; how each call ended (``done`` is well)."""
    request = Request([{"role": "user", "content": load("probe", "en").text}], _PROBE_TOKENS)
    ended = {}
    for rung in ladder.rungs:
        deadline = asyncio.get_running_loop().time() + rung.endpoint.limits.call
        with charged_to(Account(principal, uuid4(), deadline, NoLedger())):
            try:
                await Ladder([rung]).text("probe", request)
            except ModelFailed as failure:
                ended[rung.endpoint.model] = failure.outcome.value
            else:
                ended[rung.endpoint.model] = CallOutcome.DONE.value
    return ended


def _rung(settings: Settings, url: str, model: str, api_key: str) -> Rung:
    # Only here: the client's library takes half a second to import, and most services have no model.
    from app.reasoning.llm.endpoint import Endpoint  # noqa: PLC0415

    limits = TimeLimits(
        settings.llm_first_token_seconds, settings.llm_between_tokens_seconds, settings.llm_call_seconds
    )
    prices = Prices(settings.llm_prompt_price, settings.llm_completion_price)
    return Rung(Endpoint.at(url, model, api_key=api_key, limits=limits, prices=prices))


def spending_limits(settings: Settings) -> Limits:
    """Of one question, one person and one tenant."""
    return Limits(
        run_tokens=settings.task_token_budget,
        run_calls=settings.task_call_budget,
        user_tokens_per_day=settings.user_tokens_per_day,
        tenant_tokens_per_day=settings.tenant_tokens_per_day,
    )


def deep_spending_limits(settings: Settings) -> Limits:
    """The same for questions of several dependent steps."""
    return replace(
        spending_limits(settings), run_tokens=settings.deep_token_budget, run_calls=settings.deep_call_budget
    )
