"""Requests and answers as OpenAI's clients write and read them. What a client sends beyond what is named here
(``temperature``, ``tools`` …) has no meaning for us and is ignored."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from app.api.schemas import Text

MAX_MESSAGES = 200


class Received(BaseModel):
    """What a client sends."""

    model_config = ConfigDict(frozen=True, extra="ignore", use_attribute_docstrings=True)


class TextPart(Received):
    """A piece of a message's text."""

    type: Literal["text"]
    text: Text


class OtherPart(Received):
    """A piece of a message that cannot be read here: an image, a sound, a file."""

    type: str = Field(max_length=64)


class ChatMessage(Received):
    """One message, oldest first."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: Annotated[str, Text] | tuple[TextPart | OtherPart, ...] | None = None

    @property
    def text(self) -> str:
        """Its text alone."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content or () if isinstance(part, TextPart))

    @property
    def has_more_than_text(self) -> bool:
        """Whether it brings something we would silently leave out."""
        return not isinstance(self.content, str) and any(isinstance(part, OtherPart) for part in self.content or ())


class StreamOptions(Received):
    """How a stream ends."""

    include_usage: bool = False


class CompletionBody(Received):
    """A request for a completion."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"model": "auto", "messages": [{"role": "user", "content": "công ty cho nghỉ phép bao nhiêu ngày?"}]}
            ]
        }
    )

    model: str = Field("auto", min_length=1, max_length=200)
    """``auto``, a department agent, or ``deep``; `GET /v1/models` lists them."""
    messages: tuple[ChatMessage, ...] = Field(min_length=1, max_length=MAX_MESSAGES)
    """The last one of the user is the question, what stands before it the history. System messages do not change how
    questions are answered: that is up to the operator and the agents."""
    stream: bool = False
    stream_options: StreamOptions | None = None
    n: int | None = Field(None, ge=1)
    metadata: dict[str, str] | None = Field(None, max_length=16)
    """``session_id`` names one of your conversations, ``as_of`` a day (ISO) by whose rules is answered."""


class Sent(BaseModel):
    """What we answer."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)


class UrlCitation(Sent):
    """Where the answer cites a source."""

    url: str
    title: str
    start_index: int
    end_index: int


class Annotation(Sent):
    """A citation in the form clients know."""

    type: Literal["url_citation"] = "url_citation"
    url_citation: UrlCitation


class AnswerMessage(Sent):
    """The answer."""

    role: Literal["assistant"] = "assistant"
    content: str
    refusal: None = None
    annotations: tuple[Annotation, ...] = ()
    references: tuple[dict[str, Any], ...] = ()
    """The evidence as the native API gives it."""


class Choice(Sent):
    """The one answer there is."""

    index: Literal[0] = 0
    message: AnswerMessage
    finish_reason: Literal["stop"] = "stop"
    logprobs: None = None


class Usage(Sent):
    """Tokens: of the models that were asked, else estimated from the text."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class RunTold(Sent):
    """What the native API knows of the run behind a completion."""

    task_id: str | None = None
    session_id: str | None = None
    outcome: str | None = None
    confidence_score: float | None = None
    reasoning: str | None = None
    follow_up_questions: tuple[str, ...] = ()


class Completion(Sent):
    """A whole completion."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: tuple[Choice, ...]
    usage: Usage
    conclave: RunTold | None = None
    """Our own: outcome, confidence and reasons; absent where no run was made."""


class ModelView(Sent):
    """Somebody who answers."""

    id: str
    object: Literal["model"] = "model"
    created: int = 0
    owned_by: Literal["conclave"] = "conclave"
    description: str = ""


class ModelList(Sent):
    """Everybody the caller may ask."""

    object: Literal["list"] = "list"
    data: tuple[ModelView, ...]
