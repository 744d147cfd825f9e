"""What of a log line may be shown, and which lines are of one kind. Linear-time patterns only: lines are untrusted."""

import re

_SECRET_NAME = r"(?:pass(?:word|wd|phrase)?|pwd|secret|token|api[_-]?key|access[_-]?key|credential|authorization)"
_SECRETS = (
    re.compile(
        rf"(?P<kept>{_SECRET_NAME}[\w-]{{0,40}}[\"']?\s?(?:=|:)\s?(?:bearer\s|basic\s)?)"
        r"(?P<secret>\"[^\"]{0,200}\"|'[^']{0,200}'|[^\s\"',;&]+)",
        re.IGNORECASE,
    ),
    re.compile(r"(?P<kept>\bbearer\s)(?P<secret>[\w.~+/=-]{8,})", re.IGNORECASE),
    re.compile(r"(?P<kept>mật khẩu\s?(?:=|:|là)\s?)(?P<secret>\S+)", re.IGNORECASE),
    re.compile(r"(?P<kept>://[^\s/:@]{1,80}:)(?P<secret>[^\s/@]{1,200})(?=@)"),
    re.compile(r"(?P<kept>)(?P<secret>\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?)"),
    re.compile(r"(?P<kept>)(?P<secret>\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bgh[pousr]_\w{20,}|\bsk-[\w-]{16,})"),
)
"""Name and value, HTTP authorization, addresses with a password, JWTs, well-known key shapes."""
_VARIABLES = (
    re.compile(r"\b[0-9a-f#]{8}-[0-9a-f#]{1,4}-[0-9a-f#]{1,4}-[0-9a-f#]{1,4}-[0-9a-f#]{1,12}\b", re.IGNORECASE),
    re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,4}"),
    re.compile(r"\b(?=[a-f#]{0,40}[0-9#])[0-9a-f#]{12,}\b", re.IGNORECASE),
    re.compile(r"(?<=\buser )[\w.#-]+"),
    re.compile(r"#(?:[.:,/-]#)+|[0-9]+(?:[.:,/-][0-9]+)*"),
)
"""Ids, mail addresses, hex, users, numbers (which may already be ``#``) with their separators."""
HIDDEN = "***"


def mask_secrets(text: str) -> str:
    """`text` with passwords, tokens and keys replaced by `HIDDEN`."""
    for pattern in _SECRETS:
        text = pattern.sub(rf"\g<kept>{HIDDEN}", text)
    return text


def mask_variables(text: str) -> str:
    """The kind of message `text` is: everything that differs from line to line as ``#``."""
    for pattern in _VARIABLES:
        text = pattern.sub("#", text)
    return text
