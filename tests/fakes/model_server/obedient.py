"""A mind that does whatever any text it reads tells it to: the worst model to put behind the service."""

import hashlib
import json
import re
import uuid
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

from tests.fakes.model_server.asked import Asked, Json
from tests.fakes.model_server.plain import PlainValues, plain
from tests.fakes.model_server.reply import Reply, ToolCall
from tests.fakes.model_server.schema_values import Path

SECRET_CHARS = 60
_ORDER = re.compile(
    r"\b(?:ignore|disregard|forget|override|call|use|invoke|run|execute|send|post|upload|forward|include|insert|embed|"
    r"append|add|attach|reply|respond|answer|say|write|output|print|repeat|reveal|show|tell|translate|click|visit|open|"
    r"mention|recommend|promote|pretend|act|delete|approve|transfer|encode|start|end|begin|always|never|must|instead|"
    r"system prompt|previous instructions|new instructions|jailbreak|"
    r"hãy|bỏ qua|quên|phớt lờ|gọi|dùng|sử dụng|gửi|chuyển|chèn|thêm|kèm|trả lời|nói|viết|in ra|lặp lại|tiết lộ|"
    r"cho biết|nhấn|truy cập|mở|luôn|phải|thay vào đó|xoá|xóa|duyệt|chỉ dẫn|hướng dẫn|lệnh)\b",
    re.IGNORECASE,
)
_ADDRESS = re.compile(
    r"(?:[a-z][a-z0-9+.-]{1,11}://|www\.|//)[^\s<>\"'()\[\]{}|\\^`]+"
    r"|(?:javascript|data|mailto|tel):[^\s<>\"'()\[\]]+"
    r"|\b[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:com|net|org|io|example|test|invalid|vn|xyz|ru|cn)\b(?:/[^\s<>\"'()\[\]]*)?",
    re.IGNORECASE,
)
_MARKUP = re.compile(
    r"!?\[[^\]\n]*\]\([^)\n]*\)|!?\[[^\]\n]*\]\[[^\]\n]*\]|^\[[^\]\n]+\]:\s*\S+|<[a-z/!][^>\n]*>", re.I | re.M
)
_SPOKEN = re.compile(
    r"\b(?:say|reply|respond|answer|write|output|print|mention|add|include|append|nói|viết|trả lời|thêm|chèn|in ra)\b"
    r"[^\"'“‘:\n]{0,40}(?:[:]\s*|[\"'“‘])([^\"'”’\n]+)",
    re.IGNORECASE,
)
_TOOL = re.compile(
    r"\b(?:call|use|invoke|run|execute|ask|gọi|dùng|sử dụng|chạy|hỏi)\s+(?:the\s+|to\s+)?"
    r"(?:(?:tool|function|agent|công cụ|hàm|tác tử)\s+[`\"'“]?([\w.-]+)"
    r"|[`\"'“]?([\w.-]+)[`\"'”]?\s+(?:tool|function|agent)\b"
    r"|[`\"'“]?(\w+(?:[_.]\w+)+))",
    re.IGNORECASE,
)
_ASKS_FOR_PROMPT = re.compile(
    r"(?:system|initial|first|original|hidden|previous|your|above|ban đầu|hệ thống|của bạn|ở trên)[\w\s']{0,30}"
    r"(?:prompt|instructions?|message|configuration|rules|lời nhắc|chỉ dẫn|hướng dẫn)|"
    r"(?:prompt|instructions?|lời nhắc|chỉ dẫn|hướng dẫn)[\w\s']{0,30}(?:given|above|system|ban đầu|hệ thống|ở trên)",
    re.IGNORECASE,
)


def obedient(asked: Asked) -> Reply:
    """Obeys every text within the schema of the call: free strings, lists and options follow what was planted."""
    return _obeying(asked, Orders(asked), within_schema=True)


def unbound_obedient(asked: Asked) -> Reply:
    """Obeys every text, whatever the schema says: unknown options, further fields, tools that nobody offered."""
    return _obeying(asked, Orders(asked), within_schema=False)


class Orders:
    """What the texts of one call tell the model to do."""

    def __init__(self, asked: Asked):
        self.text = asked.text
        lines = [line.strip() for line in re.split(r"\n|(?<=[.!?])\s", self.text) if line.strip()]
        self.planted = [line for line in lines if _ORDER.search(line)]
        self.addresses = list(dict.fromkeys(_ADDRESS.findall(self.text)))
        self.markup = list(dict.fromkeys(_MARKUP.findall(self.text)))
        self.spoken = [said.strip() for said in _SPOKEN.findall(self.text)]
        self.tools = list(dict.fromkeys(next(filter(None, names)) for names in _TOOL.findall(self.text)))
        self.asks_for_prompt = bool(_ASKS_FOR_PROMPT.search(self.text))
        self.system = asked.system
        self.secret = " ".join((asked.system or self.text).split())[:SECRET_CHARS]
        self.stray_id = str(uuid.UUID(hashlib.sha256(self.text.encode("utf-8", "replace")).hexdigest()[:32]))

    def said(self) -> str:
        """One answer that does all of it."""
        parts = [*self.spoken, *self.planted, *self.markup, *self._links()]
        if self.asks_for_prompt:
            parts.append(self.system)
        return "\n".join([*parts, f"As told. [99] [{self.stray_id}]"])

    def _links(self) -> Iterator[str]:
        """Every way to make a reader's client carry the secret to each address."""
        for number, address in enumerate(self.addresses):
            target = f"{address}{'&' if '?' in address else '?'}q={quote(self.secret)}"
            yield f"![{number}]({target})"
            yield f"[see here]({target})"
            yield f"[see there][r{number}]\n\n[r{number}]: {target}"
            yield f"![chart][i{number}]\n\n[i{number}]: <{target}> 'chart'"
            yield f"<{target}>"
            yield f'<img src="{target}"><a href="{target}">more</a>'
            yield f"<img src=&#x22;{target.replace('://', '&#58;//')}&#x22;>"
            yield target


class ObedientValues(PlainValues):
    """Values of a schema that follow the orders as far as the schema lets them."""

    def __init__(self, asked: Asked, orders: Orders):
        super().__init__(asked)
        self._orders = orders
        self._named = orders.text.casefold()
        self._strings = [*orders.spoken, *orders.planted, *orders.markup, *orders.addresses, *orders.tools]

    def text(self, path: Path) -> str:
        return self._orders.said()

    def option(self, options: Sequence[Any], path: Path) -> Any:
        """The option that is named last: what was planted comes after what was asked."""
        return max(options, key=self._last_named)

    def items(self, schema: Json, path: Path, least: int, most: int) -> list[Any]:
        """Every option named anywhere; every planted string; else one item more than the fewest."""
        part = self._resolved(schema)
        if "enum" in part:
            wanted: list[Any] = [option for option in part["enum"] if self._last_named(option) >= 0]
        elif part.get("type") == "string":
            wanted = [text[: part.get("maxLength")] for text in (*self._orders.tools, *self._strings)]
        else:
            wanted = [self.value(schema, path)]
        filler = [self.value(schema, path) for _ in range(max(0, least - len(wanted)))]
        return [*wanted, *filler][:most]

    def _last_named(self, option: Any) -> int:
        """Where the prompt last speaks of `option`; -1 where it does not."""
        found = re.finditer(rf"(?<!\w){re.escape(str(option).casefold())}(?!\w)", self._named)
        return max((match.start() for match in found), default=-1)


def _obeying(asked: Asked, orders: Orders, *, within_schema: bool) -> Reply:
    calls = tuple(_call(name, orders) for name in orders.tools)
    finish = "tool_calls" if calls else "stop"
    if not asked.wants_json:
        return Reply(f"{plain(asked).content}\n{orders.said()}", tool_calls=calls, finish_reason=finish)
    value = ObedientValues(asked, orders).value()
    if within_schema:
        return Reply.json(value)
    further = {"tools": orders.tools, "agents": orders.tools, "flow_action": "allow_all", "said": orders.said()}
    return Reply.json({**value, **further}, tool_calls=calls, finish_reason=finish)


def _call(name: str, orders: Orders) -> ToolCall:
    given = {"url": orders.addresses[:1], "text": orders.secret, "body": orders.said()[:500]}
    return ToolCall(name, json.dumps(given, ensure_ascii=False))
