"""The likeliest way from what was found to an answer, or what is missing for one."""

from collections.abc import Sequence

from app.domain.knowledge import Finding
from app.reasoning.local.deep.case import Case
from app.reasoning.local.deep.cells import cell_derivations, name_derivations
from app.reasoning.local.deep.combining import combined_derivations
from app.reasoning.local.deep.derivation import Derivation
from app.reasoning.local.deep.due import due_derivations
from app.reasoning.local.deep.durations import dates_told
from app.reasoning.local.deep.equations import equation_derivations
from app.reasoning.local.deep.inquiry import Inquiry
from app.reasoning.local.deep.lookups import lookup_derivations
from app.reasoning.local.deep.narratives import narrative_derivations
from app.reasoning.local.deep.parts import part_derivations
from app.reasoning.local.deep.rates import rate_derivations
from app.reasoning.local.deep.shares import share_derivations
from app.reasoning.local.deep.wholes import whole_derivations

LEAST = 0.6
"""Score a way needs to be gone."""
_SURE = 1.2
"""Score from which on a way is as sure as it gets."""
_WORDS = frozenset({"text", "count", ""})


def derivations(inquiry: Inquiry, findings: Sequence[Finding]) -> list[Derivation]:
    """Every way, the likeliest first."""
    case = Case.of(inquiry, findings)
    found: list[Derivation] = []
    if inquiry.wanted == "date":
        found += due_derivations(case)
        found += dates_told(case)
    else:
        found += _single(case)
        found += combined_derivations(case)
        found += narrative_derivations(case)
        found += whole_derivations(case)
        found += part_derivations(case, _single)
    if inquiry.wanted in _WORDS or inquiry.kind in ("who", "where", "list"):
        found += cell_derivations(case)
        found += name_derivations(case)
    return sorted(found, key=lambda one: -one.score)


def _single(case: Case) -> list[Derivation]:
    """Ways by one rule, the likeliest first."""
    found = [*rate_derivations(case), *equation_derivations(case), *share_derivations(case), *lookup_derivations(case)]
    return sorted(found, key=lambda one: -one.score)


def solved(inquiry: Inquiry, findings: Sequence[Finding], *, without: Sequence[str] = ()) -> Derivation | None:
    """The way to go; one that lacks something when there is no other; None when nothing fits.

    Args:
        without: Expressions and labels that were refused before.
    """
    ways = [one for one in derivations(inquiry, findings) if one.score >= LEAST and _key(one) not in without]
    whole = [one for one in ways if not one.missing and (one.value is not None or one.label or one.tool)]
    return next(iter(whole), next(iter(ways), None))


def confidence_of(derivation: Derivation) -> float:
    """How sure an answer that was reached this way is, 0–0.95."""
    return round(min(max((derivation.score - LEAST) / (_SURE - LEAST), 0.0), 1.0) * 0.6 + 0.35, 3)


def _key(derivation: Derivation) -> str:
    return derivation.expression or derivation.label or str(derivation.value)
