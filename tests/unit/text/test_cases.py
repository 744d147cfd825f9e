"""What people mean by numbers, dates, periods and amounts: two tables of cases, read for one Wednesday morning."""

from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from app.domain.knowledge import Language
from app.text.amounts import amounts_in
from app.text.dates import VIETNAM, date_in, period_in
from app.text.numbers import numbers_in, read_number

NOW = datetime(2026, 6, 17, 10, tzinfo=VIETNAM)
NONE = "-"


def written_numbers(text: str, language: Language) -> str:
    return " ".join(str(number.exact) for number in numbers_in(text, language)) or NONE


def written_date(text: str, _language: Language) -> str:
    day = date_in(text, NOW.date())
    return NONE if day is None else day.isoformat()


def written_period(text: str, language: Language) -> str:
    found = period_in(text, NOW, language, VIETNAM)
    if found is None:
        return NONE
    are_days = all(end is None or end == NOW or not (end.hour or end.minute) for end in (found.since, found.until))
    until = found.until
    if until and are_days and until != NOW:
        until -= timedelta(days=1)
    return f"{written_moment(found.since, are_days)}..{written_moment(until, are_days)}"


def written_moment(moment: datetime | None, is_day: bool) -> str:
    if moment is None:
        return ""
    return "now" if moment == NOW else f"{moment:%Y-%m-%d}" if is_day else f"{moment:%Y-%m-%dT%H:%M}"


def written_amounts(text: str, _language: Language) -> str:
    return "; ".join(f"{amount.unit} {plain(amount.value)}" for amount in amounts_in(text)) or NONE


def plain(value: Decimal) -> str:
    return f"{value.normalize():f}"


def exact(expected: str) -> str:
    return " ".join(str(Fraction(part)) if part != NONE else part for part in expected.split())


KINDS: dict[str, Callable[[str, Language], str]] = {
    "number": written_numbers,
    "date": written_date,
    "period": written_period,
    "amount": written_amounts,
}


def cases(language: Language) -> Iterator[tuple[str, str, str]]:
    for line in (Path(__file__).parent / f"cases_{language}.tsv").read_text(encoding="utf-8").splitlines():
        kind, text, expected = line.split("\t")
        yield kind, text, exact(expected) if kind == "number" else expected


@pytest.mark.parametrize("language", ["vi", "en"])
def test_every_case_is_read_as_people_mean_it(language: Language) -> None:
    wrong = [
        f"{kind}: {text!r} is {expected}, read as {found}"
        for kind, text, expected in cases(language)
        if (found := KINDS[kind](text, language)) != expected
    ]
    assert not wrong, "\n" + "\n".join(wrong)


@pytest.mark.parametrize("language", ["vi", "en"])
def test_there_are_three_hundred_cases(language: Language) -> None:
    assert len({(kind, text) for kind, text, _ in cases(language)}) >= 300


@pytest.mark.parametrize("language", ["vi", "en"])
def test_a_text_that_is_one_number_is_read_as_that_number(language: Language) -> None:
    wrong = []
    for kind, text, expected in cases(language):
        found = numbers_in(text, language)
        if kind == "number" and len(found) == 1 and (found[0].start, found[0].end) == (0, len(text)):
            value = read_number(text, language)
            if value is None or abs(Fraction(value) - Fraction(expected)) > Fraction(1, 10**20):
                wrong.append(f"{text!r} is {expected}, read as {value}")
    assert not wrong, "\n" + "\n".join(wrong)


def test_the_day_depends_on_nothing_but_the_day_that_is_given() -> None:
    assert date_in("hôm nay", date(2020, 2, 29)) == date(2020, 2, 29)
    assert date_in("tomorrow", date(2019, 12, 31)) == date(2020, 1, 1)
