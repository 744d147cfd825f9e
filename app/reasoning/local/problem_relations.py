"""Word problems of groups and of relations: so many of each, so many more than another."""

from collections.abc import Sequence

from app.reasoning.local.cues import word_list
from app.reasoning.local.problem_reading import Mention, Problem, deed_asked, deed_of, noun_after, singular, values_of
from app.reasoning.local.reckoning import Reckoning, sum_of

_EACH = frozenset({"each", "every", "per"})
_OTHER_QUESTIONS = frozenset({"left", "remain", "remained", "remaining", "still", "more", "fewer", "less"})
_CONTAINERS = frozenset({"row", "rows", "pack", "packs"})
_UNCLEAR, _BOUNDARY = word_list("problems.unclear"), word_list("problems.boundary")
_SIGNS = {"more": "+", "fewer": "-", "less": "-"}


def grouped(problem: Problem) -> Reckoning | None:
    """So many of each: “There are 7 baskets. Each basket has 10 peaches. How many peaches are there?”."""
    asked = set(problem.asked)
    if len(problem.mentions) > 3 or problem.words & (_UNCLEAR - _CONTAINERS) or asked & (_EACH | _OTHER_QUESTIONS):
        return None
    each = [(one, _group_of(problem, one)) for one in problem.mentions]
    within = [(one, group) for one, group in each if group and _is_asked(problem, one)]
    if len(within) != 1 or asked & {"and", "or", "if"}:
        return None
    own, group = within[0]
    counts = [one for one, of in each if one.noun.head == group and not of]
    rest = [one for one in problem.mentions if one is not own and one not in counts]
    deeds = {one.deed for one in (*rest, *counts)} | {deed_asked(problem)} - {own.deed}
    if len(counts) != 1 or "lose" in deeds or any(not one.noun.head or _is_asked(problem, one) for one in rest):
        return None
    return sum_of(f"{counts[0].value} * {own.value}", values_of([counts[0], own]))


def _is_asked(problem: Problem, mention: Mention) -> bool:
    """Whether a number counts what is asked for; without marks of its own it does where no other has its noun."""
    same = [one for one in problem.mentions if one.noun.head == problem.noun.head]
    return problem.noun.covers(mention.noun) or (same == [mention] and not mention.noun.marks)


def _group_of(problem: Problem, mention: Mention) -> str:
    """The noun a number is said of each of; empty for any other number."""
    words = problem.words_of(mention)
    at = next((at for at, word in enumerate(words) if word in _EACH), None)
    if at is None or at + 1 >= len(words):
        return ""
    between = words[mention.at + 1 : at]
    if mention.at < at and ("and" in between or any(word[0].isdigit() for word in between)):
        return ""
    return noun_after((words[at + 1], ","), 0).head


def related(problem: Problem) -> Reckoning | None:
    """“14 kids on Tuesday, 8 more on Monday than on Tuesday: how many on Monday?”."""
    relations = [one for one in problem.mentions if "than" in problem.words_near(one)]
    known = [one for one in problem.mentions if one not in relations]
    if len(relations) != 1 or len(known) != 1 or problem.words & (_UNCLEAR | _EACH):
        return None
    relation, held = relations[0], known[0]
    after = problem.words_of(relation)[relation.at + 1 :]
    sign = _SIGNS.get(after[0], "")
    if not sign or held.noun.head != relation.noun.head or not problem.noun.covers(held.noun):
        return None
    more, than = _sides(after, problem.noun.head)
    in_known, in_asked = set(problem.words_of(held)), set(problem.asked)
    if than & in_known and more & in_asked and not more & in_known and not than & in_asked:
        return _more_or_less(held, sign, relation)
    if more & in_known and than & in_asked and not than & in_known and not more & in_asked:
        return _more_or_less(held, "-" if sign == "+" else "+", relation)
    return None


def _more_or_less(held: Mention, sign: str, relation: Mention) -> Reckoning | None:
    if sign == "-" and float(held.value) < float(relation.value):
        return None
    return sum_of(f"{held.value} {sign} {relation.value}", values_of([held, relation]))


def _sides(after: Sequence[str], noun: str) -> tuple[set[str], set[str]]:
    """The words that stand on one side of “than” only."""
    at = after.index("than")
    one, other = (
        {
            word
            for word in side
            if word not in _BOUNDARY | _SIGNS.keys() and not deed_of([word]) and singular(word) != noun
        }
        for side in (after[:at], after[at:])
    )
    return one - other, other - one
