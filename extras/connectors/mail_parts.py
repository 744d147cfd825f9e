"""Take a mail apart: what is attached to it. Runs in a process of its own: whoever sends a mail writes what is read."""

import email
import json
import re
from email.message import EmailMessage
from email.policy import default

from extras.readers.mail import attachments_of

_MOST = 100
_ODD = re.compile(r"[\x00-\x1f/\\:*?\"<>|]+")

SAMPLE = (
    b"Subject: =?utf-8?b?eA==?=\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n\r\nx\r\n--x\r\n"
    b"Content-Disposition: attachment; filename=x\r\nContent-Transfer-Encoding: base64\r\n\r\neA==\r\n--x--\r\n"
)
"""Taken apart once at the start, as later nothing can be loaded."""


def attached_to(content: bytes) -> bytes:
    """A line of JSON with (name, bytes) of each attachment, then their contents one after the other."""
    message = email.message_from_bytes(content, policy=default)
    assert isinstance(message, EmailMessage)
    names: list[tuple[str, int]] = []
    contents: list[bytes] = []
    for at, part in enumerate(attachments_of(message)[:_MOST], 1):
        payload = part.get_payload(decode=True)
        if isinstance(payload, bytes):
            name = _ODD.sub("_", part.get_filename() or "")[-100:].strip(" ._") or "file"
            names.append((f"{at}-{name}", len(payload)))
            contents.append(payload)
    return json.dumps(names).encode() + b"\n" + b"".join(contents)
