"""Frozen records and closed unions; they import pydantic and the standard library, nothing else.

`principal` who asks · `plan` what will be done · `knowledge` what was found · `answer` what is answered ·
`tasks` units of work and sessions.
"""
