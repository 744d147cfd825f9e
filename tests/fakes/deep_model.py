"""A scripted model that knows the prompts of the deep flow: it plans, looks up, works out, judges and tells as a good
model would; and rules behind it whose work can be told from a model's."""

import json
import re
from typing import Any

from app.domain.deep import Critique, DeepPlan, Report, Working
from app.reasoning.deep import Action, ActRequest, CritiqueRequest, DecomposeRequest, Found, Solved, TellRequest
from app.reasoning.sentences import load
from tests.fakes.house_mind import lines_of
from tests.fakes.model_server import Asked, Reply

DEEP_STAGES = ("deep_plan", "deep_research", "deep_solve", "deep_review", "deep_tell")
BY_RULE = "theo quy tắc"
"""Stands in everything that `MarkedRules` say."""
_PROMPTS = {load(name, lang).text: name for name in DEEP_STAGES for lang in ("vi", "en")}
_SUM = re.compile(r"\d[\d.]*(?: [*+/-] \d[\d.]*)+")
_LOOKS_UP = re.compile(r"search|rag|web|wikipedia")


def deep_stage_of(asked: Asked) -> str:
    """What the call is for, by its prompt."""
    return next((name for text, name in _PROMPTS.items() if asked.system.startswith(text)), "?")


def offered_to(asked: Asked) -> list[dict[str, Any]]:
    """The tools a call was told of."""
    lines = [json.loads(line) for line in asked.system.splitlines() if line.startswith('{"tool": ')]
    return [one for one in lines if "does" in one]


def deep_model(asked: Asked) -> Reply:
    """A good answer to any call of the deep flow."""
    lines = lines_of(asked)
    match deep_stage_of(asked):
        case "deep_plan":
            return Reply.json(_planned(asked, lines[-1]["question"]))
        case "deep_research":
            return Reply.json({"action": _researched(asked, lines)})
        case "deep_solve":
            return Reply.json({"action": _solved(asked, lines)})
        case "deep_review":
            return Reply.json({"approved": True, "feedback": ""})
        case "deep_tell":
            return Reply.json(_told(lines))
        case _:
            raise AssertionError(f"a prompt of another flow: {asked.system[:80]}")


def a_call(tool: str, query: str, **arguments: str) -> dict[str, Any]:
    """A tool call as models write it."""
    values = [{"name": name, "value": value} for name, value in arguments.items()]
    return {"kind": "tool", "tool": tool, "query": query, "arguments": values, "why": "cần biết"}


def _planned(asked: Asked, question: str) -> dict[str, Any]:
    lookup = [one for one in offered_to(asked) if _LOOKS_UP.search(one["tool"])]
    research = [f"Quy định áp dụng cho: {question[:200]}"] if lookup else []
    return {"research": research, "logic": ["Tính kết quả", "Nêu câu trả lời"], "answer_format": ""}


def _researched(asked: Asked, lines: list[dict[str, Any]]) -> dict[str, Any]:
    task = lines[-1]["task"]
    found = [one for line in lines for one in line.get("findings", ()) if one["found"]]
    if found:
        return {"kind": "found", "text": found[0]["answer"], "found": True, "sources": [found[0]["n"]]}
    calls = sum("gave" in line or "failed" in line for line in lines)
    if lines[-1]["calls_left"] > 0 and calls == 0 and offered_to(asked):
        return a_call(offered_to(asked)[0]["tool"], task)
    return {"kind": "found", "text": "Không tìm thấy.", "found": False, "sources": []}


def _solved(asked: Asked, lines: list[dict[str, Any]]) -> dict[str, Any]:
    values = [line["value"] for line in lines if line.get("value")]
    sources = [one["n"] for line in lines for one in line.get("research", {}).get("findings", ())][:1]
    sums = _SUM.findall(lines[-2]["question"])
    if values:
        return _end(values[-1], f"Kết quả là {values[-1]}.", sources)
    if sums and lines[-1]["calls_left"] > 0 and offered_to(asked):
        return a_call(offered_to(asked)[0]["tool"], sums[0])
    learned = [line["research"]["learned"] for line in lines if "research" in line and line["research"]["found"]]
    return _end(learned[0], learned[0], sources) if learned else _end("", "Chưa đủ dữ kiện.", [], solved=False)


def _end(answer: str, text: str, sources: list[int], *, solved: bool = True) -> dict[str, Any]:
    return {
        "kind": "solved", "solved": solved, "answer": answer, "text": text, "steps": [text], "sources": sources,
        "confidence": 0.9,
    }  # fmt: skip


def _told(lines: list[dict[str, Any]]) -> dict[str, Any]:
    work = next(line["answer"] for line in lines if "answer" in line)
    back = [f"Trả lại {line['sent_back']}: {line['because']}" for line in lines if "sent_back" in line]
    done = [f"Đã tra: {line['research']['asked']}" for line in lines if "research" in line]
    short = lines[-1]["style"] == "short"
    return {"answer": work["answer"] if short else work["text"], "reasoning": [*done, *back, *work["steps"]]}


class MarkedRules:
    """Implements `DeepReasoner` without thinking."""

    identity = "rules/marked"

    async def decompose(self, request: DecomposeRequest) -> DeepPlan:
        return DeepPlan(question=request.asked.question, logic=(BY_RULE,))

    async def next_action(self, request: ActRequest) -> Action:
        if request.role == "researcher":
            return Found(text=BY_RULE, found=False)
        return Solved(working=Working(answer="", text=BY_RULE, solved=False))

    async def criticise(self, request: CritiqueRequest) -> Critique:
        step = 0 if request.research is None else request.research.step
        return Critique(of=request.of, approved=False, feedback=BY_RULE, step=step)

    async def tell(self, request: TellRequest) -> Report:
        return Report(answer=request.failure or BY_RULE, reasoning=BY_RULE, solved=False)
