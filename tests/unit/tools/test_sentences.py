"""Every sentence a tool may say is there in both languages, with the same places to fill in."""

from string import Formatter

from app.tools.dialling import Refusal
from app.tools.mcp.adapter import _SENTENCES
from app.tools.sandbox import Stop
from app.tools.sentences import _TABLES, sentence


def places(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


def test_both_languages_say_the_same_things() -> None:
    for table, sentences in _TABLES.items():
        for name, languages in sentences.items():
            assert set(languages) == {"vi", "en"}, f"{table}.{name}"
            assert places(languages["vi"]) == places(languages["en"]), f"{table}.{name}"


def test_every_reason_has_its_sentence() -> None:
    assert set(Refusal) <= set(_TABLES["fetch"])
    assert set(Stop) <= set(_TABLES["program"])
    assert {*_SENTENCES.values(), "ended"} <= set(_TABLES["mcp"])


def test_a_value_is_not_filled_in_itself() -> None:
    assert "{tool}" in sentence("mcp", "refused", "en", tool="a.b", server="a", reason="{tool}")
