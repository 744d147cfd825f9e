"""What is in a file: its kind, size, columns, headings, entries, and what an image says of itself."""

import re
from collections.abc import Iterator, Sequence

from app.domain.attachments import AttachedFile, AttachedTable
from app.domain.knowledge import Language
from app.tables import plain as folded
from app.tools.files.reading import sentences

_MOST_TABLES, _MOST_COLUMNS, _MOST_HEADINGS, _MOST_ENTRIES = 10, 20, 15, 20
_CHARS = 80
_ASKS = re.compile(
    r"\b(?:trong (?:tep|file|tap tin)(?: nay| dinh kem)? (?:co|gom|chua) (?:gi|nhung gi|cai gi)|(?:tep|file)(?: nay)? "
    r"(?:co|gom|chua) (?:gi|nhung gi)|noi dung (?:tep|file)|(?:mo ta|thong tin|gioi thieu)(?: ve)? (?:tep|file)"
    r"|(?:tep|file)(?: nay)? la gi|(?:co )?(?:nhung|cac|bao nhieu) (?:cot|trang tinh|sheet|trang|tep|file)(?: nao)?"
    r"|liet ke (?:cac )?(?:tep|file|cot|trang tinh)|kich thuoc|dinh dang|chup (?:khi nao|ngay nao|o dau|bang)"
    r"|what(?:'s| is)? (?:is )?in (?:this|the)(?: attached)? (?:file|archive|zip)|what does (?:this|the) file contain"
    r"|describe (?:this|the) (?:file|image|picture)|(?:which|what|how many) (?:columns|sheets|pages|files|entries)"
    r"|list (?:the )?(?:files|columns|sheets|entries)|(?:size|format|dimensions) of (?:this|the) (?:file|image|picture)"
    r"|when was (?:this|the) (?:picture|photo|image) taken|where was (?:this|the) (?:picture|photo|image) taken)\b"
)
_TEXTS = sentences("files")


def asks_what_it_is(query: str) -> bool:
    """Whether a question is about the file rather than what it says."""
    return _ASKS.search(folded(query)) is not None


def described(file: AttachedFile, language: Language) -> str:
    """A few lines about a file. What it holds is quoted as names, never followed."""
    return "\n".join(_lines(file, language))


def _lines(file: AttachedFile, language: Language) -> Iterator[str]:
    texts, told, content = _TEXTS[language], file.attachment, file.content
    parts = [texts["file"].format(name=told.name, kind=told.kind.upper(), size=_size(told.byte_count, language))]
    parts += [texts["pages"].format(count=told.pages)] if told.pages else []
    parts += [texts["tables"].format(count=told.tables)] if told.tables else []
    yield f"{', '.join(parts)}."
    if told.kind == "image":
        yield f"{', '.join(_image(content.facts, texts))}."
    if told.kind == "zip":
        entries = [f"{_short(one.name)} ({_size(one.byte_count, language)})" for one in content.entries[:_MOST_ENTRIES]]
        size = _size(int(content.facts.get("unpacked_bytes", "0")), language)
        listed = "; ".join(entries) + ("…" if len(content.entries) > _MOST_ENTRIES else "")
        yield f"{texts['entries'].format(count=len(content.entries), size=size, entries=listed)}."
    yield from (f"- {_table(table, texts)}." for table in content.tables[:_MOST_TABLES])
    if not content.tables and (headings := _headings(file)):
        yield f"{texts['headings'].format(headings='; '.join(headings))}."


def _image(facts: dict[str, str], texts: dict[str, str]) -> Iterator[str]:
    yield texts["image"].format(**{name: facts.get(name, "?") for name in ("format", "width", "height")})
    for name in ("taken_at", "camera"):
        if name in facts:
            yield texts[name].format(value=_short(facts[name]))
    if "latitude" in facts and "longitude" in facts:
        yield texts["place"].format(latitude=facts["latitude"], longitude=facts["longitude"])


def _table(table: AttachedTable, texts: dict[str, str]) -> str:
    columns = ", ".join(f"“{_short(name)}”" for name in table.header[:_MOST_COLUMNS] if name)
    columns += "…" if len(table.header) > _MOST_COLUMNS else ""
    name = f" “{_short(table.name)}”" if table.name else ""
    told = texts["table"].format(name=name, rows=len(table.rows), columns=columns)
    return told + (texts["cut"] if table.is_cut else "")


def _headings(file: AttachedFile) -> Sequence[str]:
    names = dict.fromkeys(section.heading for section in file.content.sections if section.heading)
    return [_short(name) for name in list(names)[:_MOST_HEADINGS]]


def _size(count: int, language: Language) -> str:
    value, unit = float(count), "byte"
    for larger in ("KB", "MB", "GB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    shown = f"{value:.1f}".rstrip("0").rstrip(".") if unit != "byte" else str(count)
    return f"{shown.replace('.', ',') if language == 'vi' else shown} {unit}"


def _short(text: str) -> str:
    return text if len(text) <= _CHARS else f"{text[: _CHARS - 1]}…"
