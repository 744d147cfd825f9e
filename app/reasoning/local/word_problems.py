"""Word problems of one relation: what is left, how many altogether, how many more; English.

Only problems in which every number has a known part are taken: its verb says what it does, or it counts something
else. Anything unclear (shares, rates, “some”, another person) is declined: a wrong number is worse than none.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from app.reasoning.local.cues import word_list
from app.reasoning.local.problem_reading import (
    Deed,
    Mention,
    Noun,
    Problem,
    deed_asked,
    deed_of,
    noun_after,
    read_problem,
    values_of,
)
from app.reasoning.local.problem_relations import grouped, related
from app.reasoning.local.reckoning import Reckoning, sum_of
from app.text.language import guess_language

_MAX_CHARS = 500
_UNCLEAR = word_list("problems.unclear")
_EACH = frozenset({"each", "every", "per"})
_LEFT = frozenset({"left", "remain", "remained", "remains", "remaining", "still"})
_NOW = frozenset({"now", "then"})
_TOTAL = frozenset({"altogether", "total", "all"})
_FIRST = frozenset({"initially", "originally", "first", "beginning", "begin", "start", "started", "before"})
_MORE, _FEWER = frozenset({"more"}), frozenset({"fewer", "less"})
_ARE, _SOME = frozenset({"are", "is"}), frozenset({"some"})
_SOMEBODY, _BOUNDARY = word_list("problems.somebody"), word_list("problems.boundary")
_THEM = frozenset({"him", "her", "them", "me", "us"})


def word_problem(text: str) -> Reckoning | None:
    """The sum a problem comes down to; None when no rule is sure."""
    return _read(text) if len(text) <= _MAX_CHARS and guess_language(text) == "en" else None


@lru_cache(maxsize=256)
def _read(text: str) -> Reckoning | None:
    problem = read_problem(text)
    if problem is None or len(problem.mentions) < 2 or any("%" in one.value for one in problem.mentions):
        return None
    for rule in _RULES:
        found = rule(problem)
        if found:
            return found
    return None


def _comparison(problem: Problem) -> Reckoning | None:
    """“How many more wrappers than bottle caps does he have now?”."""
    sides = _sides(problem.asked)
    if sides is None or problem.words & (_UNCLEAR | _EACH | _SOME) or _states(problem, "than"):
        return None
    more, than = sides
    first, other = noun_after(problem.asked, 2), noun_after(than, 0)
    asked_deed = deed_asked(problem)
    mentions = [one for one in _current(problem) if asked_deed in ("have", "", one.deed)]
    if any(one.noun.head == first.head and other.head in one.noun.marks for one in mentions):
        other = Noun(first.head, frozenset({other.head}))
    one, two = (_counted(mentions, noun) for noun in (first, other))
    if first.head and other.head and one and two and not set(one) & set(two):
        return _by_how_much(one, two, is_fewer=bool(set(more) & _FEWER))
    return _of_one_kind(problem, [one for one in mentions if first.covers(one.noun)], more, than)


def _of_one_kind(
    problem: Problem, alike: Sequence[Mention], more: Sequence[str], than: Sequence[str]
) -> Reckoning | None:
    """The difference of two numbers of the same things; of several, those whose words the question repeats."""
    if any(not one.noun.head for one in problem.mentions) or len({one.deed for one in alike}) != 1:
        return None
    if len(alike) > 2:
        own, other = ([one for one in alike if set(problem.words_near(one)) & keys] for keys in _keys(more, than))
        if len(own) != 1 or len(other) != 1 or own == other:
            return None
        return _by_how_much(own, other, is_fewer=bool(set(more) & _FEWER))
    if len(alike) != 2:
        return None
    high, low = sorted(alike, key=lambda mention: -float(mention.value))
    return _by_how_much([high], [low], is_fewer=False)


def _keys(more: Sequence[str], than: Sequence[str]) -> tuple[set[str], set[str]]:
    """The words that stand on one side of “than” only."""
    one, other = ({word for word in side if word not in _BOUNDARY and not deed_of([word])} for side in (more, than))
    return one - other, other - one


def _balance(problem: Problem) -> Reckoning | None:
    """What was there, what came, what went and what is there: three of them give the fourth."""
    asked = set(problem.asked)
    if problem.words & (_UNCLEAR | _EACH) or _states(problem, "than") or asked & (_MORE | _FEWER | {"and", "or", "if"}):
        return None
    counted = _counted(problem.mentions, problem.noun)
    if not counted or len(counted) < 2 or not _of_one_person(problem, counted):
        return None
    final = [one for one in counted if one.deed == "have" and _is_final(problem, one)]
    held = [one for one in counted if one.deed == "have" and one not in final]
    moved = [(one, _moved(problem, one, is_held=bool(held))) for one in counted if one.deed != "have"]
    if len(final) > 1 or any(not deed for _, deed in moved):
        return None
    gained, lost = ([one for one, deed in moved if deed == wanted] for wanted in ("gain", "lose"))
    return _solved(problem, _Parts(held, gained, lost, final))


@dataclass(frozen=True, slots=True)
class _Parts:
    """The numbers of a problem by what they do."""

    held: Sequence[Mention]
    gained: Sequence[Mention]
    lost: Sequence[Mention]
    final: Sequence[Mention]


def _solved(problem: Problem, parts: _Parts) -> Reckoning | None:
    asked, deed = set(problem.asked), deed_asked(problem)
    held, gained, lost, final = parts.held, parts.gained, parts.lost, parts.final
    if asked & _FIRST:
        return _sum([*final, *lost], gained) if final and not held and (gained or lost) else None
    if deed in ("gain", "lose") and not asked & _LEFT:
        return _change(problem, deed, parts)
    is_end = bool(asked & (_LEFT | _NOW | _TOTAL | _ARE)) or deed == "have"
    if not is_end:
        return _lacking(parts) if len(held) == len(final) == 1 and not gained and not lost else None
    if final or problem.words & _SOME or (len(held) > 1 and not asked & _TOTAL):
        return None
    if asked & _LEFT and not (lost and (held or gained)):
        return None
    return _sum([*held, *gained], lost) if gained or lost or asked & _TOTAL else None


def _change(problem: Problem, deed: Deed, parts: _Parts) -> Reckoning | None:
    """How many came or went: what all of them make, or what is lacking between before and after."""
    own = parts.gained if deed == "gain" else parts.lost
    if not parts.final:
        same = len({problem.verb_of(one) for one in own}) == 1
        return _sum(own, ()) if len(own) >= 2 and same and not problem.words & _SOME else None
    if own and not (parts.held and problem.words & _SOME):
        return None
    if deed == "gain":
        return _sum([*parts.final, *parts.lost], [*parts.held, *parts.gained])
    return _sum([*parts.held, *parts.gained], [*parts.final, *parts.lost]) if parts.held or parts.gained else None


def _lacking(parts: _Parts) -> Reckoning | None:
    """What was done is not known, but what was there before and after: the difference."""
    high, low = sorted([*parts.held, *parts.final], key=lambda mention: -float(mention.value))
    return _sum([high], [low])


def _sides(asked: Sequence[str]) -> tuple[Sequence[str], Sequence[str]] | None:
    """The question around “than”, when it asks how many more or fewer."""
    if len(asked) < 3 or asked[2] not in _MORE | _FEWER:
        return None
    for at, word in enumerate(asked):
        if word == "than" or (word == "compared" and asked[at + 1 : at + 2] == ("to",)):
            return asked[:at], asked[at + (1 if word == "than" else 2) :]
    return None


def _states(problem: Problem, word: str) -> bool:
    return any(word in sentence for sentence in problem.sentences)


def _current(problem: Problem) -> tuple[Mention, ...]:
    """The numbers that hold now, where some are said to."""
    now = [one for one in problem.mentions if "now" in problem.words_of(one) and one.deed == "have"]
    return tuple(now) if now and "now" in problem.asked else problem.mentions


def _counted(mentions: Sequence[Mention], noun: Noun) -> list[Mention] | None:
    """The numbers that count a noun; one that names nothing counts what the one before it did."""
    found: list[Mention] = []
    if not noun.head:
        return None
    before = None
    for one in mentions:
        counts = noun.covers(one.noun) or (not one.noun.head and before is not None and noun.covers(before))
        if not one.noun.head and before is None:
            return None
        before = one.noun if one.noun.head else before
        if counts:
            found.append(one)
    return found


def _is_final(problem: Problem, mention: Mention) -> bool:
    words = set(problem.words_of(mention))
    return bool(words & (_LEFT | _NOW)) and not words & _FIRST


def _moved(problem: Problem, mention: Mention, *, is_held: bool) -> Deed:
    """Whether it came or went; empty where that is not sure. What is picked from what is asked about went."""
    words = problem.words_of(mention)
    before, tail = words[: mention.at], words[mention.at :]
    if set(before) & _SOMEBODY:
        return ""
    if problem.verb_of(mention) == "gave":
        given_to = before[len(before) - before[::-1].index("gave") :]
        if given_to:
            return "gain" if len(given_to) == 1 and given_to[0] in _THEM else ""
        return "" if set(tail) & {*_THEM, *(name for name in problem.names if name in problem.asked)} else "lose"
    if mention.deed == "gain" and "from" in tail and set(problem.asked) & _LEFT:
        return "lose" if is_held else ""
    return mention.deed


def _of_one_person(problem: Problem, counted: Sequence[Mention]) -> bool:
    """Whether nobody else's numbers are among them: of several people, who has what is not always said."""
    named = {name for one in counted for name in problem.names if name in problem.words_of(one)[: one.at]}
    same = all(one.deed == counted[0].deed for one in counted)
    return len(named) <= 1 or (same and bool(set(problem.asked) & _TOTAL))


def _total(mentions: Sequence[Mention]) -> str:
    """``(2 + 4)``; what was lost is taken away."""
    parts = [mentions[0].value]
    parts += [
        f"{'-' if one.deed == 'lose' and mentions[0].deed != 'lose' else '+'} {one.value}" for one in mentions[1:]
    ]
    return f"({' '.join(parts)})" if len(parts) > 1 else parts[0]


def _by_how_much(first: Sequence[Mention], second: Sequence[Mention], *, is_fewer: bool) -> Reckoning | None:
    """By how much the first are more than the second; None where they are not, or something was lost and never had."""
    high, low = (second, first) if is_fewer else (first, second)
    amounts = _amount(high), _amount(low)
    if any(not one.deed for one in (*high, *low)) and len(high) + len(low) > 2:
        return None
    if min(amounts) < 0 or amounts[0] < amounts[1]:
        return None
    return sum_of(f"{_total(high)} - {_total(low)}", values_of([*first, *second]))


def _amount(mentions: Sequence[Mention]) -> float:
    is_loss = mentions[0].deed == "lose"
    return sum(float(one.value) * (-1 if one.deed == "lose" and not is_loss else 1) for one in mentions)


def _sum(plus: Sequence[Mention], minus: Sequence[Mention]) -> Reckoning | None:
    """What is added, less what is taken away; None where that is below zero."""
    if not plus or len(plus) + len(minus) < 2:
        return None
    if sum(float(one.value) for one in plus) < sum(float(one.value) for one in minus):
        return None
    expression = " + ".join(one.value for one in plus) + "".join(f" - {one.value}" for one in minus)
    return sum_of(expression, values_of([*plus, *minus]))


_RULES: tuple[Callable[[Problem], Reckoning | None], ...] = (_comparison, _balance, grouped, related)
