"""A mind that does as a model should: it keeps the schema it is given, and answers from the passages it is shown."""

from collections.abc import Sequence
from typing import Any

from tests.fakes.model_server.asked import Asked
from tests.fakes.model_server.passages import first_sentence, passages_in
from tests.fakes.model_server.reply import Reply
from tests.fakes.model_server.schema_values import Path, SchemaValues

QUOTED = 3


def plain(asked: Asked) -> Reply:
    """The smallest value that keeps the schema; else the first sentence of the first passages, each with its marker."""
    if asked.wants_json:
        return Reply.json(PlainValues(asked).value())
    said = [f"{first_sentence(words)} [{number}]" for number, words in passages_in(asked.text)[:QUOTED]]
    return Reply(" ".join(said) or "I do not know.")


def question_in(asked: Asked) -> str:
    """The last line of the last user's message that asks something, or else its last line."""
    said = next((text for role, text in reversed(asked.messages) if role == "user"), "")
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return next((line for line in reversed(lines) if "?" in line), lines[-1] if lines else "")


class PlainValues(SchemaValues):
    """Values that speak of the question: its words for free text, the options it names."""

    def __init__(self, asked: Asked):
        super().__init__(asked.schema or {"type": "object"})
        self.question = question_in(asked)

    def text(self, path: Path) -> str:
        return self.question or "a"

    def option(self, options: Sequence[Any], path: Path) -> Any:
        named = self.question.casefold()
        return next((option for option in options if str(option).casefold() in named.split()), options[0])
