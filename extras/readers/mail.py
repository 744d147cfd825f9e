"""Mail: the header as a heading and lines, the text, and what is attached by its name alone."""

import email
from email.message import EmailMessage, MIMEPart
from email.policy import default

from app.ingestion.parsing.draft import Draft, one_line
from app.ingestion.parsing.outcome import WarningCode
from app.ingestion.parsing.web_page import read_markup

_FIELDS = ("From", "To", "Cc", "Date")
_MAX_FIELD_CHARS, _MAX_NAMES = 1_000, 50


def read_mail(content: bytes, draft: Draft) -> None:
    """Fill the draft from a message; of two versions of the text the plain one is taken, if it says anything."""
    message = email.message_from_bytes(content, policy=default)
    subject = _field(message, "Subject")
    draft.title = subject
    draft.heading(1, subject)
    fields = ((name, _field(message, name)) for name in _FIELDS)
    draft.paragraph("\n".join(f"{name}: {value}" for name, value in fields if value))
    _body(message, draft)
    names = [one_line(part.get_filename() or part.get_content_type())[:200] for part in attachments_of(message)]
    draft.warn(WarningCode.ATTACHMENTS_NOT_READ, len(names))
    if names:
        draft.paragraph("Attachments: " + ", ".join(names[:_MAX_NAMES]))


def _body(message: EmailMessage, draft: Draft) -> None:
    plain = message.get_body(("plain",))
    text = _text(plain, draft) if plain is not None else ""
    marked_up = message.get_body(("html",)) if not text.strip() else None
    if marked_up is not None:
        read_markup(_text(marked_up, draft), draft)
    else:
        draft.verbatim(text)


def _text(part: MIMEPart, draft: Draft) -> str:
    content = part.get_payload(decode=True)
    if not isinstance(content, bytes):
        return ""
    charset = part.get_content_charset("")
    return draft.decoded(content, "" if charset in ("us-ascii", "unknown-8bit") else charset)


def _field(message: EmailMessage, name: str) -> str:
    return one_line(str(message.get(name, "")))[:_MAX_FIELD_CHARS]


def attachments_of(message: EmailMessage) -> list[EmailMessage]:
    """The parts of a message that are files beside its text."""
    bodies = {id(part) for kind in ("plain", "html") if (part := message.get_body((kind,))) is not None}
    leaves = (part for part in message.walk() if isinstance(part, EmailMessage) and not part.is_multipart())
    return [part for part in leaves if id(part) not in bodies and (part.get_filename() or part.is_attachment())]
