"""Passages a prompt quotes, in the three shapes prompts use: ``[1] text``, ``<tag id="1">text</tag>``, JSON objects."""

import json
import re

_MARKED = re.compile(r"^\s*\[(\w[\w.:-]*)\][:.]?\s+(\S.*?)(?=^\s*\[\w[\w.:-]*\]|\n\s*\n|\Z)", re.MULTILINE | re.DOTALL)
_TAGGED = re.compile(r"<(\w+)[^<>]*?\b(?:id|n|ref|number)=[\"']?([\w.:-]+)[\"']?[^<>]*>(.*?)</\1>", re.DOTALL)
_OBJECT = re.compile(r"\{[^{}]*\"(?:text|content|passage)\"[^{}]*\}")
_FIRST_SENTENCE = re.compile(r"\s*(.+?[.!?…](?=\s|$)|.+)", re.DOTALL)


def passages_in(text: str) -> list[tuple[str, str]]:
    """Id and words of every passage, in order."""
    tagged = [(number, words.strip()) for _, number, words in _TAGGED.findall(text)]
    marked = [(number, words.strip()) for number, words in _MARKED.findall(text)]
    return tagged or marked or [found for found in map(_from_json, _OBJECT.findall(text)) if found]


def _from_json(written: str) -> tuple[str, str] | None:
    try:
        value = json.loads(written)
    except ValueError:
        return None
    words = value.get("text") or value.get("content") or value.get("passage")
    number = value.get("id", value.get("n", value.get("ref")))
    return None if number is None or not isinstance(words, str) else (str(number), words)


def first_sentence(words: str) -> str:
    """The first sentence of a passage."""
    found = _FIRST_SENTENCE.match(words)
    return " ".join(found[1].split()) if found else ""
