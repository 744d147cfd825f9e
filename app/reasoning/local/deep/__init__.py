"""A mind for the deep flow without a model: it reads rules from passages and builds the expression the question needs.

`LocalDeepReasoner` is the way in. By subject: `inquiry` (with `goals`, `quantities`, `days`, `derived`, `formats`)
reads the question; `statements` (with `pieces`, `columns`, `per`, `formulas`) reads what passages state, `weighing`
how far it is what is asked about; `rates`, `shares`, `equations`, `lookups`, `combining`, `excess`, `wholes`,
`parts`, `narratives`, `durations`, `due` and `cells` are ways to an answer, `solving` chooses one; `puzzles` and
`own_sums` need no research; `tables` reads attached files. `planning`, `researching`, `working` (with
`carrying_out`, `answering`), `criticising` and `telling` are the five parts of the flow. `dependent` tells which
questions need them at all.
"""

from app.reasoning.local.deep.dependent import is_dependent
from app.reasoning.local.deep.reasoner import LocalDeepReasoner

__all__ = ["LocalDeepReasoner", "is_dependent"]
