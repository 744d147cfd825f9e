"""Claims that can be compared: what sentences state, of what, and whether two of them can both hold.

Two claims contradict each other when they speak of the same thing and give values of the same kind that have nothing
in common ("12 ngày phép năm" against "14 ngày phép năm"). Answers compare the claims of their quotes, the health report
those of neighbouring passages. Both read and exclude here; how sure they must be of "the same thing" is theirs: quotes
answer one question already, passages only lie near one another.

By subject: `record` (the claim, the two sides, may and must), `reading` (amounts, from when until when), `marks`
(rooms, contacts, weekdays, how often), `sentences` (all of these for one sentence; what a question wants to know,
and other cases), `clashes` and `statements` (which claims of two texts disagree), `kinds` (what sort of conflict
that is, and what other documents say in the place of a quote).
"""

from app.claims.reading import claims_in
from app.claims.record import Claim, Polarity, Validity, Value, Weight, likeness, subject_words

__all__ = ["Claim", "Polarity", "Validity", "Value", "Weight", "claims_in", "likeness", "subject_words"]
