"""What a question wants reckoned that names all its operands; decided on its words, before anything is read."""

from functools import lru_cache

from app.reasoning.local.date_questions import date_asked
from app.reasoning.local.measure_questions import measure_asked
from app.reasoning.local.pure_arithmetic import pure_expression
from app.reasoning.local.reckoning import Reckoning, sum_of
from app.reasoning.local.several_sums import sums_in
from app.reasoning.local.stated_relations import stated_relation
from app.reasoning.local.word_problems import word_problem
from app.reasoning.local.word_sums import word_sum


@lru_cache(maxsize=512)
def reckoning_asked(query: str) -> Reckoning | None:
    """The sum, conversion or day a question asks for; None when documents have to be searched.

    Sure or nothing: a question that says anything else as well is not taken, nor are several sums.
    """
    if sums_in(query):
        return None
    return (
        date_asked(query)
        or measure_asked(query)
        or word_sum(query)
        or _pure(query)
        or stated_relation(query)
        or word_problem(query)
    )


def _pure(query: str) -> Reckoning | None:
    pure = pure_expression(query)
    if pure is None:
        return None
    return sum_of(pure.expression, pure.grounds, unit=pure.unit, is_stated=pure.is_stated)
