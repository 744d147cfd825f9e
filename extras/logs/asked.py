"""Whether a question asks for what stands in the system logs rather than in a document about them."""

import re

from app.reasoning.local.wording import alternatives
from app.text.language import fold, normalise

_LOG_WORD = re.compile(r"\b(?:logs?|nhat ky(?: he thong| may chu| truy cap| dang nhap)?|log file|event log)\b")
_HOST = re.compile(r"\b[a-z]{2,}(?:-[a-z]+)*-\d{1,3}\b")
_EVENT, _MACHINE, _PERIOD, _POLICY, _RANKING = (
    re.compile(rf"\b(?:{alternatives(f'asked.{section}', __package__)})\b")
    for section in ("event", "machine", "period", "policy", "ranking")
)
_IN_LOGS = re.compile(r"\b(?:according to|in|from|trong|theo) (?:the |system |our )?(?:logs?|nhat ky)\b")
_EVIDENCE = 3


def asks_log(query: str) -> bool:
    """Whether the logs are meant: they are named, or enough of what only they hold is."""
    bare = fold(normalise(query)).lower()
    if _POLICY.search(bare):
        return False
    if _IN_LOGS.search(bare):
        return True
    recorded = 2 * bool(_LOG_WORD.search(bare)) + bool(_PERIOD.search(bare)) + bool(_RANKING.search(bare))
    named = bool(_HOST.search(bare)) + bool(_MACHINE.search(bare)) + bool(_EVENT.search(bare))
    return recorded >= 1 and recorded + named >= _EVIDENCE
