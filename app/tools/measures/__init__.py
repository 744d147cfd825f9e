"""Quantities: reading the names of units, Vietnamese and English, and converting exactly."""

from app.tools.measures.conversion import Conversion, convert, counterpart
from app.tools.measures.reading import CannotConvert, Measure, Refusal, read_measure

__all__ = ["CannotConvert", "Conversion", "Measure", "Refusal", "convert", "counterpart", "read_measure"]
