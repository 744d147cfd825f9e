"""Every sentence a tool may say is there in both languages, with the same places to fill in."""

from string import Formatter

from app.text.arithmetic import Refusal as MathRefusal
from app.tools.base import sentence
from app.tools.mcp.adapter import _SENTENCES
from extras.logs.report import sentence as log_sentence
from extras.python.sandbox import Stop
from extras.python.tool import sentence as program_sentence
from extras.web.fetching import sentence as web_sentence
from extras.web.safe_http import Refusal


def places(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


def test_both_languages_say_the_same_things() -> None:
    every = sentence.tables | log_sentence.tables | web_sentence.tables | program_sentence.tables
    for table, sentences in every.items():
        for name, languages in sentences.items():
            assert set(languages) == {"vi", "en"}, f"{table}.{name}"
            assert places(languages["vi"]) == places(languages["en"]), f"{table}.{name}"


def test_every_reason_has_its_sentence() -> None:
    assert set(Refusal) <= set(web_sentence.tables["fetch"])
    assert set(Stop) <= set(program_sentence.tables["program"])
    assert {*_SENTENCES.values(), "ended"} <= set(sentence.tables["mcp"])
    assert set(MathRefusal) <= set(sentence.tables["math"])


def test_a_value_is_not_filled_in_itself() -> None:
    assert "{tool}" in sentence("mcp", "refused", "en", tool="a.b", server="a", reason="{tool}")
