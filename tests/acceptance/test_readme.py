"""The README's transcripts are what the product answers."""

import re
from pathlib import Path

import pytest

from app.main import Services
from tests.acceptance.asking import ask

README = Path(__file__).parents[2] / "README.md"
_TRANSCRIPT = re.compile(r"```text\n\$ conclave ask \"([^\"]+)\" --as (\S+)\n(.*?)```", re.DOTALL)
MOST_LINES = 120


def transcripts() -> list[tuple[str, str, str]]:
    """(question, asker, what is printed) of every transcript."""
    return _TRANSCRIPT.findall(README.read_text("utf-8"))


def test_is_short_and_has_three_transcripts() -> None:
    assert README.read_text("utf-8").count("\n") <= MOST_LINES and len(transcripts()) >= 3


@pytest.mark.parametrize(("question", "asker", "printed"), transcripts(), ids=lambda value: str(value)[:30])
async def test_prints_what_is_answered(services: Services, question: str, asker: str, printed: str) -> None:
    answer = (await ask(services, asker, question)).answer
    lines = printed.splitlines()
    sources = [line.removeprefix("→ ") for line in lines if line.startswith("→ ")]
    text = " ".join(line for line in lines if not line.startswith("→ "))
    assert " ".join(answer["answer"].split()) == " ".join(text.split())
    assert [one["url"] for one in answer["evidence"]] == sources
