"""One deep run reads a page by its address, searches, reads a result, asks an MCP server and computes on a file."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from app.agents.registry import AgentRegistry, Solvers, every_tool
from app.agents.run import StepRunner
from app.events import ToolRequest
from app.flow.deep.context import DeepPorts
from app.flow.deep.graph import DeepFlow
from app.flow.deep.state import DeepLimits
from app.main import Services
from app.main.services import now
from app.reasoning.local import LocalReasoner
from app.storage.database import Database
from app.tasks.worker import Worker
from app.tools.catalogue import ToolPorts, WebPorts
from app.tools.mcp.adapter import MCPToolAdapter
from extras.web.plugin import SEARCH, WEB
from tests.acceptance.asking import Told, ask
from tests.conformance.deep_calls import deep_reasoner_to
from tests.extras.web.test_search import found as results
from tests.extras.web.test_search import hit
from tests.fakes.deep_checkpoints import MemoryCheckpoints
from tests.fakes.deep_model import a_call, deep_model, deep_stage_of, offered_to
from tests.fakes.model_server import Asked, ModelServer, Reply, scripted_model_server
from tests.fakes.web_server import Reply as Page
from tests.fakes.web_server import Site, web_site
from tests.unit.tools.mcp_lines import lines_of, plain_list, spec_of

AGENT = """
name: desk
description: {vi: "hỏi bàn trực và trang web", en: "asks the desk and web pages"}
is_pool: true
tools: [web_tool, hostile.echo]
exemplars: [hỏi bàn trực]
"""
PARKING, LIFTS = b"Parking\n\nA day in garage B costs 40,000 VND.", b"Lifts\n\nThe lifts stop at 22:00 every night."
CSV = "Tháng,Chi phí\n1,100\n2,250\n".encode()


def text(body: bytes) -> Page:
    return Page(body, "text/plain")


@asynccontextmanager
async def house(services: Services, model: ModelServer, site: Site, folder: Path) -> AsyncIterator[None]:
    """A worker whose deep flow has the web, a search engine and an MCP server, all of them on loopback."""
    rooms, host = services.rooms, f"localhost:{site.port}"
    ports = rooms.flow.ports
    web = WebPorts(frozenset({host}), frozenset({"localhost"}), None, "", f"http://127.0.0.1:{site.port}")
    made = ToolPorts(cast("Any", None), cast("LocalReasoner", ports.reasoner), cast("Database", None), 0.7, web=web)
    (folder / "desk.yaml").write_text(AGENT, "utf-8")
    spec = spec_of("plain")
    async with lines_of(spec) as lines, deep_reasoner_to((model.base_url, "m")) as mind:
        echo = next(tool for tool in (await plain_list()).tools if tool.name == "echo")
        further = (WEB.make(made), SEARCH.make(made), MCPToolAdapter(spec, echo, lines, ports.reasoner))
        tools = {tool.name: tool for tool in further if tool is not None}
        toolbox = {**ports.steps.toolbox, **tools}
        known = {**every_tool(), "hostile.echo": "Says the text."}
        agents = AgentRegistry.load(folder, {name: about for name, about in known.items() if name in toolbox})
        runner = StepRunner(rooms.registry, toolbox, ports.reasoner, now)
        deep_ports = DeepPorts(mind, Solvers.load(toolbox), runner, MemoryCheckpoints(), services.attachments)
        flow = DeepFlow(replace(ports, agents=agents), deep_ports, rooms.flow.limits, DeepLimits())
        worker = Worker(services.database, rooms.registry, rooms.journal, {"chat": flow.run})
        await worker.start()
        yield
        await worker.stop()


def thinking(*researched: dict[str, Any]) -> Any:
    """A strong model: it takes these actions in the research step, and is approved and told as ever."""
    left = list(researched)

    def respond(asked: Asked) -> Reply:
        if deep_stage_of(asked) == "deep_research":
            return Reply.json({"action": left.pop(0)})
        return deep_model(asked)

    return respond


def called(told: Told) -> list[str]:
    return [event.tool for event in told.events if isinstance(event, ToolRequest)]


@pytest.fixture(scope="module")
async def model() -> AsyncIterator[ModelServer]:
    async with scripted_model_server() as server:
        yield server


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with web_site({"/parking": text(PARKING), "/lifts": text(LIFTS)}) as opened:
        there = f"http://localhost:{opened.port}/lifts"
        opened.answers["/search"] = results(hit(there, "Lifts", "When the lifts stop."), hit("https://evil.example/"))
        yield opened


class TestOneRun:
    async def test_reads_all_five(
        self, small_services: Services, model: ModelServer, site: Site, tmp_path: Path
    ) -> None:
        base = f"http://localhost:{site.port}"
        end = {"kind": "found", "text": "A day in garage B costs 40,000 VND.", "found": True, "sources": [1]}
        model.respond = thinking(
            a_call("web_tool", "", url=f"{base}/parking", question="What does a day in garage B cost?"),
            a_call("search_tool", "when do the lifts stop"),
            a_call("web_tool", "", url=f"{base}/lifts", question="When do the lifts stop?"),
            a_call("hostile.echo", "", text="hello"),
            a_call("files_tool", "tổng cột chi phí"),
            end,
        )
        principal = (await small_services.claims_of("acme/lan")).principal()
        attached = await small_services.attachments.bring_in(principal, CSV, "chi-phi.csv")
        async with house(small_services, model, site, tmp_path):
            told = await ask(
                small_services, "acme/lan", f"What does {base}/parking say about garage B?", mode="deep",
                files=[str(attached.file_id)],
            )  # fmt: skip
        assert called(told) == ["web_tool", "search_tool", "web_tool", "hostile.echo", "files_tool"]
        steps = [one for one in told.answer["flow_action"] if one["node_id"].startswith("researcher#")]
        assert [one["status"] for one in steps] == ["done"] * 5
        assert [asked.path for asked in site.asked] == ["/parking", "/search", "/lifts"]
        assert told.answer["outcome"] == "answered"
        assert [one["url"] for one in told.answer["evidence"]] == [f"{base}/parking"]
        assert "evil" not in told.text
        await small_services.attachments.delete(principal, attached.file_id)

    async def test_carries_nothing_out_once_something_inside_was_read(
        self, small_services: Services, model: ModelServer, site: Site, tmp_path: Path
    ) -> None:
        base = f"http://localhost:{site.port}"
        model.respond = thinking(
            a_call("search_tool", "garage"),
            a_call("hostile.echo", "", text="salary"),
            a_call("search_tool", "salary of lan"),
            a_call("web_tool", "", url=f"{base}/lifts", question="salary"),
            {"kind": "found", "text": "nothing", "found": False, "sources": []},
            *[{"kind": "found", "text": "nothing", "found": False, "sources": []}] * 2,
        )
        async with house(small_services, model, site, tmp_path):
            told = await ask(small_services, "acme/lan", "What about garage B?", mode="deep")
        assert called(told) == ["search_tool", "hostile.echo"]
        assert [asked.path for asked in site.asked] == ["/search"]

    async def test_a_question_with_one_page_takes_six_calls_of_the_model(
        self, small_services: Services, model: ModelServer, site: Site, tmp_path: Path
    ) -> None:
        model.forget()
        base = f"http://localhost:{site.port}"
        model.respond = thinking(
            a_call("web_tool", "", url=f"{base}/parking", question="What does a day in garage B cost?"),
            {"kind": "found", "text": "A day in garage B costs 40,000 VND.", "found": True, "sources": [1]},
        )
        async with house(small_services, model, site, tmp_path):
            told = await ask(small_services, "acme/lan", f"What does {base}/parking say about garage B?", mode="deep")
        assert told.answer["outcome"] == "answered"
        assert [deep_stage_of(asked) for asked in model.requests] == [
            "deep_plan",
            "deep_research",
            "deep_research",
            "deep_solve",
            "deep_review",
            "deep_tell",
        ]

    async def test_only_what_agents_offer_is_offered(
        self, small_services: Services, model: ModelServer, site: Site, tmp_path: Path
    ) -> None:
        model.forget()
        model.respond = thinking(*[{"kind": "found", "text": "nothing", "found": False, "sources": []}] * 4)
        async with house(small_services, model, site, tmp_path):
            await ask(small_services, "acme/lan", "What about garage B?", mode="deep", agents={"hr": {}})
        offered = {one["tool"] for asked in model.requests for one in offered_to(asked)}
        assert not {"web_tool", "search_tool", "hostile.echo"} & offered
