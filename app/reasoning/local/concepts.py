"""What a text names, whatever its language: concepts of the glossary."""

from app.reasoning.local.glossary import glossary
from app.reasoning.local.terms import bag_of

_TELLING = 0.5
"""Least weight of a concept; lighter ones (company, rule, document) stand in every policy."""


def concepts_in(text: str) -> frozenset[str]:
    """Names of the telling concepts of `text`, equal for a phrase and its translation."""
    weights = glossary().weights
    return frozenset(str(concept) for concept in bag_of(text).concepts if weights[concept] >= _TELLING)
