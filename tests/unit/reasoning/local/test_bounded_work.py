"""A hostile question costs no more to understand than an ordinary one of its length: work is counted, not timed."""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain, islice, repeat

import pytest

import app.text.language as language
from app.reasoning.local.intents import sub_queries_of
from app.text.language import guess_language

CHARS = 4_000
_VIETNAMESE = "abcdefghijklmnopqrstuvwxyzàáâãèéêìíòóôõùúýăđĩũơư"
_chance = random.Random(3)


def letters(count: int) -> str:
    return "".join(_chance.choices(_VIETNAMESE, k=count))


def long(piece: Callable[[], str]) -> str:
    """As many pieces as a question may hold."""
    return "".join(islice(chain.from_iterable(piece() for _ in repeat(None)), CHARS))


ORDINARY = long(
    lambda: _chance.choice((
        "Tôi làm ở phòng nhân sự và muốn hỏi về việc nghỉ phép năm. ", "Tháng này có một nhân viên đi muộn ba lần. ",
        "The password policy says something about rotation. ", "Tôi muốn biết ai duyệt đơn, và trong bao lâu. ",
    ))
)  # fmt: skip
"""A long message that tells its story and asks in between."""
HOSTILE = {
    "words": lambda: f"{letters(_chance.randint(2, 9))} ",
    "one word": lambda: letters(1),
    "numbers": lambda: f"{_chance.randint(0, 10**9)} ",
    "sentences": lambda: f"{letters(6).capitalize()} {letters(3)}. ",
    "clauses": lambda: f"{letters(4)}, và {letters(3)}? ",
    "questions": lambda: f"ai {letters(3)}? ",
    "joints": lambda: "ai, và ",
    "asking sentences": lambda: f"ai {letters(2)} gì. ",
    "lines": lambda: f"bao nhiêu {letters(2)}\n",
    "days": lambda: f"{_chance.randint(1, 28)}/{_chance.randint(1, 12)}/2026 ",
    "sums": lambda: f"{_chance.randint(1, 999)}+{_chance.randint(1, 99)}*",
    "marks": lambda: f"{letters(1)}{_chance.choice('.,;:!?-')}",
}


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Characters of everything that is normalised inside: whatever reads a text begins with that."""
    read: list[int] = []
    clean = language.clean

    def counting(text: str) -> str:
        read.append(len(text))
        return clean(text)

    with monkeypatch.context() as patched:
        patched.setattr(language, "clean", counting)
        yield read


def work_of(query: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """What telling the questions of a query apart reads; a call by itself costs as much as 20 characters."""
    spoken = guess_language(query)
    sub_queries_of.cache_clear()
    with counted(monkeypatch) as read:
        sub_queries_of(query, spoken)
    return sum(read) + 20 * len(read)


class TestWork:
    @pytest.mark.parametrize("shape", HOSTILE)
    def test_is_at_most_three_times_that_of_an_ordinary_question(
        self, shape: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert work_of(long(HOSTILE[shape]), monkeypatch) <= 3 * work_of(ORDINARY, monkeypatch)

    @pytest.mark.parametrize("shape", HOSTILE)
    def test_grows_with_the_length_and_no_faster(self, shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
        text = long(HOSTILE[shape])
        assert work_of(text, monkeypatch) <= 3 * work_of(text[: CHARS // 2], monkeypatch)

    @pytest.mark.parametrize("shape", HOSTILE)
    def test_leaves_pieces_that_are_bounded_too(self, shape: str) -> None:
        found = sub_queries_of(long(HOSTILE[shape]), "vi")
        assert len(found) <= 6 and sum(map(len, found)) <= CHARS + 6 * 700
