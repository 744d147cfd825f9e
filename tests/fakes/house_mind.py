"""A scripted model that knows the house's prompts: it plans, answers and writes as a good model would."""

import json
import re
from typing import Any

from app.reasoning.sentences import FOLDER, load
from tests.fakes.model_server import Asked, Reply

STAGES = ("plan", "answer", "arguments", "compose", "mend")
_SMALL = "compose_small"
_PROMPTS = {load(name, lang).text: name.removesuffix("_small") for name in (*STAGES, _SMALL) for lang in ("vi", "en")}
_SENTENCE = re.compile(r"[^\n|#*>-][^\n|]{15,}?[.!?](?=\s|$)")
_NUMBER = re.compile(r"\d[\d.,]*\d|\d")


def stage_of(asked: Asked) -> str:
    """What the call is for, by its prompt."""
    return next((name for text, name in _PROMPTS.items() if asked.system.startswith(text)), "?")


def lines_of(asked: Asked) -> list[dict[str, Any]]:
    """The JSON lines of the first user message."""
    told = next(text for role, text in asked.messages if role == "user")
    return [json.loads(line) for line in told.splitlines() if line.startswith("{")]


def house_mind(asked: Asked) -> Reply:
    """A good answer to any call of the house."""
    lines = lines_of(asked)
    match stage_of(asked):
        case "plan":
            return Reply.json(_plan(asked, lines[-1]["question"]))
        case "answer":
            return Reply.json(_answer(lines))
        case "arguments":
            return Reply.json(_arguments(lines[-1]["question"]))
        case "compose":
            return Reply(_composed(lines))
        case "mend":
            return Reply.json({"statements": [{"n": line["n"], "text": ""} for line in lines if "statement" in line]})
        case _:
            raise AssertionError(f"a prompt that is none of {FOLDER.name}: {asked.system[:80]}")


def _plan(asked: Asked, question: str) -> dict[str, Any]:
    if re.match(r"(?i)xin chào|hello|hi\b", question):
        return {"kind": "chitchat", "refined_query": "", "chitchat_response": "Xin chào!", "agents": []}
    offered = [json.loads(line) for line in asked.system.splitlines() if line.startswith('{"agent": "')]
    named = [one for one in offered if "about" in one]
    picked = named[:2]
    calculates = "/" in question or "tính" in question.lower() or "calculate" in question.lower()
    agents = []
    for one in picked:
        tools = ["rag_tool"]
        if calculates and "math_tool" in one["tools"]:
            tools.append("math_tool")
        if "summary_tool" in one["tools"]:
            tools.append("summary_tool")
        agents.append({"agent": one["agent"], "queries": [question], "tools": tools})
    return {"kind": "question", "refined_query": question, "chitchat_response": "", "agents": agents}


def _answer(lines: list[dict[str, Any]]) -> dict[str, Any]:
    for line in lines:
        sentence = _sentence(line.get("text", ""))
        if sentence:
            quote = {"passage": line["n"], "text": sentence}
            return {"found": True, "quotes": [quote]}
    return {"found": False, "quotes": []}


def _arguments(question: str) -> dict[str, Any]:
    empty = {"unit": "", "terms": "", "level": "", "source": "", "period": "", "missing": [], "grounds": []}
    return {"expression": " + ".join(_NUMBER.findall(question)), **empty}


def _composed(lines: list[dict[str, Any]]) -> str:
    """One sentence of every source, each with its number."""
    texts = [(line["n"], _sentence(line["text"])) for line in lines if "n" in line and "text" in line]
    said = [f"{sentence} [{number}]" for number, sentence in texts if sentence]
    return "\n\n".join(dict.fromkeys(said)) or "NOT_FOUND"


def _sentence(text: str) -> str:
    found = _SENTENCE.search(text)
    return " ".join(found[0].split()) if found else ""
