"""How people write: languages, folding, numbers, amounts and dates, in Vietnamese and English.

The only room that knows; every other one asks it.
"""
