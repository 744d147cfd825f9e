"""Frozen records of the house; they import nothing of the rest.

`principal` who asks · `language` what is spoken · `plan` what will be done · `knowledge` what was found ·
`answer` what is said · `tasks` units of work and sessions.
"""
