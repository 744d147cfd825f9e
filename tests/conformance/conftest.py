"""The model servers: the scripted one for each module, the real one once for all."""

from collections.abc import AsyncIterator

import httpx
import pytest
import pytest_asyncio
from openai import AsyncOpenAI

from app.reasoning.llm import answering, deep, writing
from app.reasoning.local import LocalReasoner
from tests.conformance.asking_models import OFFERS, QUERY
from tests.conformance.model_calls import PATIENCE_SECONDS
from tests.fakes.llama import LlamaServer, llama_server, missing
from tests.fakes.model_server import ModelServer, plain, scripted_model_server

_FEW_TOKENS = 60


@pytest_asyncio.fixture(scope="session")
async def reasoner(reasoner: LocalReasoner) -> LocalReasoner:
    """The local reasoner with its exemplars embedded before any clock runs."""
    await reasoner.warm([offer.exemplars for offer in OFFERS])
    await reasoner.classify(QUERY, (), OFFERS)
    return reasoner


@pytest_asyncio.fixture(scope="module")
async def running_scripted() -> AsyncIterator[ModelServer]:
    async with scripted_model_server() as server:
        yield server


@pytest_asyncio.fixture
async def scripted(running_scripted: ModelServer) -> ModelServer:
    """The scripted server, well and with nothing on record."""
    await running_scripted.mend()
    await running_scripted.settled()
    running_scripted.forget()
    running_scripted.respond = plain
    return running_scripted


@pytest_asyncio.fixture
async def client(scripted: ModelServer) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=scripted.base_url, api_key="k", max_retries=0) as opened:
        yield opened


@pytest_asyncio.fixture
async def raw(scripted: ModelServer) -> AsyncIterator[httpx.AsyncClient]:
    """A client that hides nothing."""
    async with httpx.AsyncClient(base_url=scripted.base_url, timeout=PATIENCE_SECONDS) as opened:
        yield opened


@pytest_asyncio.fixture(scope="session")
async def llama() -> AsyncIterator[LlamaServer]:
    """A llama.cpp server with SmolLM2-135M; skips, saying why, only where its packages are not installed."""
    if reason := missing():
        pytest.skip(reason)
    async with llama_server() as server:
        yield server


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replies end after a few words: so small a model talks on up to the limit it is given, whatever that is."""
    for module, name in (
        (writing, "_MAX_TOKENS"), (writing, "_MENDING_TOKENS"), (answering, "_ANSWER_TOKENS"),
        (deep, "_PLAN_TOKENS"), (deep, "_REVIEW_TOKENS"),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, _FEW_TOKENS)


@pytest_asyncio.fixture
async def llama_client(llama: LlamaServer) -> AsyncIterator[AsyncOpenAI]:
    # llama.cpp now and then drops a kept connection without a word after a stream.
    headers = {"Connection": "close"}
    async with AsyncOpenAI(base_url=llama.base_url, api_key="k", max_retries=0, default_headers=headers) as opened:
        yield opened
