"""Times and days that a text tells: how long something takes, on which day it is."""

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction

from app.reasoning.local.deep.arithmetic import evaluated
from app.reasoning.local.deep.case import Case
from app.reasoning.local.deep.days import days_in
from app.reasoning.local.deep.derivation import Derivation
from app.reasoning.local.deep.pieces import Piece

_CLOCK = re.compile(r"(?<![\d:])(?P<h>[01]?\d|2[0-4])(?::|h|\sgiờ\s?)(?P<m>[0-5]\d)?(?!\d)")
_STARTS = re.compile(
    r"cất cánh|khởi hành|xuất phát|bắt đầu|đón|mở|đi |departs?|departure|leaves?|takes? off|starts?|"
    r"begins?|from|opens?|sets? off",
    re.IGNORECASE,
)
_ENDS = re.compile(
    r"hạ cánh|đến nơi|tới|kết thúc|về đến|đến|đóng|arrives?|arrival|lands?|ends?|finish|until|closes?|reaches",
    re.IGNORECASE,
)
_TIME_UNITS = {"minute": 1, "hour": 60}
_LEAST = 0.2


def durations(case: Case) -> Iterator[Derivation]:
    """How long something takes whose beginning and end are told."""
    unit = _TIME_UNITS.get(case.inquiry.wanted)
    if unit is None:
        return
    timed = [(piece, list(_CLOCK.finditer(piece.unit.text))) for piece in case.pieces]
    ordered = [(piece, marks) for piece, marks in timed if marks]
    for at, (piece, marks) in enumerate(ordered):
        cover = case.scales.cover_of_piece(piece)
        if len(marks) == 2:
            yield _span(case, (piece,), marks[0], marks[1], cover, unit)
        elif _STARTS.search(piece.unit.text) and cover >= _LEAST:
            later = next(
                (
                    (other, found)
                    for other, found in ordered[at + 1 :]
                    if _ENDS.search(other.unit.text) and other.passage == piece.passage
                ),
                None,
            )
            if later:
                yield _span(case, (piece, later[0]), marks[0], later[1][0], cover, unit)


def _span(
    case: Case, pieces: Sequence[Piece], first: re.Match[str], last: re.Match[str], cover: float, unit: int
) -> Derivation:
    start, end = _minutes(first), _minutes(last)
    minutes = (end - start) % (24 * 60)
    written = f"({end // 60} * 60 + {end % 60} - {start // 60} * 60 - {start % 60})"
    expression = written if unit == 1 else f"{written} / 60"
    value = evaluated(expression) if end >= start else Fraction(minutes, unit)
    return Derivation(
        route="own" if value is not None else "sum",
        score=cover + 0.35,
        expression=expression if end >= start else "",
        unit="minute" if unit == 1 else "hour",
        value=value,
        pieces=tuple(pieces),
        notes=(f"{first[0]} → {last[0]}",),
    )


def _minutes(mark: re.Match[str]) -> int:
    return int(mark["h"]) * 60 + int(mark["m"] or 0)


def dates_told(case: Case) -> Iterator[Derivation]:
    """The day that stands in the sentence that says most of what is asked about."""
    if case.inquiry.wanted != "date" or case.inquiry.days:
        return
    ranked = sorted(
        ((case.scales.cover_of_piece(piece), at, piece) for at, piece in enumerate(case.pieces)),
        key=lambda one: (-one[0], one[1]),
    )
    for cover, _, piece in ranked[:3]:
        days = days_in(piece.unit.text, case.inquiry.today)
        if not days or cover < _LEAST:
            continue
        places = [
            piece.unit.text.lower().find(word)
            for term in case.inquiry.terms
            for word in term.text.split()
            if len(word) > 2
        ]
        known = [place for place in places if place >= 0] or [0]
        nearest = min(days, key=lambda one: sum(abs(one.start - place) for place in known))
        yield Derivation(
            route="text",
            score=cover + 0.2,
            label=nearest.text if not case.inquiry.form.day else nearest.day.isoformat(),
            pieces=(piece,),
        )
