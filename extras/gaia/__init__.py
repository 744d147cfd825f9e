"""Questions in the format of the GAIA benchmark: read, put to the deep flow, scored by quasi-exact match, reported.

`docs/gaia.md` tells the format and how a score is reproduced.
"""
