"""The bodies of HTTP requests and answers. They never travel below this room: routes turn them into domain records.

Unknown fields are refused. Text is checked for what no store or model can carry (lone surrogates, NUL) and brought
to NFC; limits that an operator may set are checked by the routes.
"""

import json
import unicodedata
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import AfterValidator, AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from app.domain.deep import AnswerStyle
from app.domain.tasks import ChatRequest, Message

EXAMPLES: dict[str, Any] = json.loads(Path(__file__).with_name("examples.json").read_text("utf-8"))
"""Bodies shown in the API's documentation; tests hold them against the records they stand for."""
_INVISIBLE = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})


def _carried(text: str) -> str:
    if "\x00" in text:
        raise ValueError("must not contain NUL characters")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError("must be valid Unicode") from error
    return unicodedata.normalize("NFC", text)


def _not_blank(text: str) -> str:
    if all(unicodedata.category(character) in _INVISIBLE for character in text):
        raise ValueError("must not be blank")
    return text


def _written(day: object) -> object:
    if isinstance(day, date) or (isinstance(day, str) and day[4:5] == "-"):
        return day
    raise ValueError("write the day as 2026-01-31")


Text = Annotated[str, AfterValidator(_carried)]
Day = Annotated[date, BeforeValidator(_written)]
"""Never a number of seconds."""
Moment = Annotated[AwareDatetime, Field(ge=datetime(2000, 1, 1, tzinfo=UTC), lt=datetime(3000, 1, 1, tzinfo=UTC))]
Question = Annotated[str, Field(min_length=1), AfterValidator(_carried), AfterValidator(_not_blank)]
Label = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_carried)]


class Body(BaseModel):
    """A request body: unknown fields are an error, so a misspelt right or limit is never silently ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class View(BaseModel):
    """What the API shows; the docstrings of its fields are their descriptions in the API's documentation."""

    model_config = ConfigDict(use_attribute_docstrings=True)


class HistoryTurn(Body):
    """An earlier turn of the conversation, as the client remembers it."""

    role: Literal["user", "assistant"]
    content: Text = Field(max_length=20_000)
    timestamp: Label | None = None
    """ISO 8601; anything else is taken as unknown."""

    def message(self) -> Message:
        """The turn as a domain record."""
        try:
            moment = datetime.fromisoformat(self.timestamp) if self.timestamp else None
        except ValueError:
            moment = None
        return Message(role=self.role, content=self.content, timestamp=moment)


class UserContext(Body):
    """Whom the client believes to act for. It can only narrow what the token gives, never widen it."""

    user_id: Label | None = None
    tenant_id: Label | None = None
    permissions: tuple[Label, ...] | None = Field(None, max_length=16)
    department: Label | None = None


class ToolOfferBody(Body):
    """A tool an agent may use for this question."""

    name: Label
    description: Text = Field("", max_length=500)


class AgentOfferBody(Body):
    """An agent that may be used for this question."""

    desc: Text = Field("", max_length=500)
    tools: tuple[ToolOfferBody, ...] | None = Field(None, max_length=32)


class ChatBody(Body):
    """A question (§1.1 of the flow)."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"query": "giá trị cốt lõi, muộn có ảnh hưởng đến giá trị nào không"},
                {
                    "query": "How many days of annual leave do I have after five years?",
                    "history_chat": [{"role": "user", "content": "Hello"}],
                    "user_context": {"permissions": ["public", "internal"], "department": "hr"},
                    "agents": {"hr": {"desc": "leave, pay, lateness", "tools": [{"name": "rag_tool"}]}},
                    "mode": "department",
                    "as_of": "2026-06-30",
                },
            ]
        }
    )

    query: Question
    history_chat: tuple[HistoryTurn, ...] = Field((), max_length=50)
    """Oldest first; when empty the session's own history is used."""
    user_context: UserContext | None = None
    agents: dict[Label, AgentOfferBody] | None = Field(None, min_length=1, max_length=32)
    """Only these agents and tools are used; they must exist."""
    session_id: UUID | None = None
    """One of the caller's sessions; a new one is opened when absent."""
    mode: Literal["auto", "department", "deep"] = "auto"
    as_of: Day | None = None
    """Answer by the rules in force on this day instead of today's."""
    files: tuple[UUID, ...] = Field((), max_length=10)
    """Files of the caller to answer from: ``file_id`` of ``POST /files``."""
    answer_style: AnswerStyle = "sentence"
    """Of deep answers: ``short`` gives the bare answer, as exact-match scoring compares it."""
    approve_plan: bool = False
    """With ``mode: deep``: the run waits until its plan was approved."""

    def request(self) -> ChatRequest:
        """The question as it is stored with its task."""
        return ChatRequest(
            query=self.query,
            history_chat=tuple(turn.message() for turn in self.history_chat),
            agents=None if self.agents is None else {name: _offer(agent) for name, agent in self.agents.items()},
            mode=self.mode,
            as_of=self.as_of,
            files=tuple(dict.fromkeys(self.files)),
            answer_style=self.answer_style,
            approve_plan=self.approve_plan,
        )


def _offer(agent: AgentOfferBody) -> dict[str, Any]:
    return agent.model_dump(mode="json", exclude_none=True)


class SearchBody(Body):
    """A search without an answer."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"query": "quy định đi muộn", "departments": ["hr"], "limit": 5}]}
    )

    query: Question
    departments: tuple[Label, ...] | None = Field(None, min_length=1, max_length=32)
    """Only these departments; None = every department the caller may read."""
    limit: int = Field(8, ge=1, le=50)
    as_of: Day | None = None


class Problem(View):
    """An error (RFC 9457, ``application/problem+json``)."""

    type: str
    title: str
    status: int
    code: str
    """One of the service's stable error codes."""
    detail: str
    task_id: UUID | None = None


class PlanView(View):
    """A plan that was not carried out."""

    plan: dict[str, Any]
    """§2.1 of the flow: a task's plan, or the chitchat form."""
    user_access: tuple[str, ...]
    token_estimate: int
    """Tokens a language model would read and write for this plan; 0 for chitchat."""


class DecisionBody(Body):
    """What is decided about a plan."""

    approved: Annotated[bool, Field(strict=True)]
    feedback: Text = Field("", max_length=2_000)
    """What to plan differently. A plan that is refused without it ends the run."""
    attempt: int | None = Field(None, ge=1, le=2**31 - 1)
    """``attempt`` of the `interrupt` event that is answered; another plan that waits by now is not decided by it."""

    @model_validator(mode="after")
    def _say_what_counts(self) -> Self:
        if self.approved and self.feedback.strip():
            raise ValueError("feedback: belongs to a plan that is not approved")
        return self


class WaitingView(View):
    """A run that waits for its plan to be approved."""

    session_id: UUID
    task_id: UUID
    outcome: Literal["waiting"] = "waiting"
    waiting_for: Literal["approval"] = "approval"
    plan: dict[str, Any]
    """§2.1 of the flow."""
    attempt: int
    """To be named in the decision."""
    expires_at: datetime
    """The run is cancelled when nobody decides before."""
