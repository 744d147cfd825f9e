"""What is in a file: its kind, size, columns, headings, entries, and what an image says of itself."""

from collections.abc import Iterator

from app.domain.attachments import AttachedFile, AttachedTable
from app.domain.knowledge import Language
from app.tools.files.reading import sentences, short

_MOST_TABLES, _MOST_COLUMNS, _MOST_HEADINGS, _MOST_ENTRIES = 10, 20, 15, 20


def described(file: AttachedFile, language: Language) -> str:
    """A few lines about a file. What it holds is quoted as names, never followed."""
    return "\n".join(_lines(file, language))


def _lines(file: AttachedFile, language: Language) -> Iterator[str]:
    texts, told, content = sentences("files")[language], file.attachment, file.content
    parts = [texts["file"].format(name=told.name, kind=told.kind.upper(), size=_size(told.byte_count, language))]
    parts += [texts[name].format(count=count) for name in ("pages", "tables") if (count := getattr(told, name))]
    yield f"{', '.join(parts)}."
    if told.kind == "image":
        facts = {"format": "?", "width": "?", "height": "?"} | {
            name: short(fact) for name, fact in content.facts.items()
        }
        needed = {"image": (), "taken_at": ("taken_at",), "camera": ("camera",), "place": ("latitude", "longitude")}
        known = [name for name, names in needed.items() if facts.keys() >= {*names}]
        yield f"{', '.join(texts[name].format(value=facts.get(name), **facts) for name in known)}."
    if told.kind == "zip":
        entries = [f"{short(one.name)} ({_size(one.byte_count, language)})" for one in content.entries[:_MOST_ENTRIES]]
        size = _size(int(content.facts.get("unpacked_bytes", "0")), language)
        listed = "; ".join(entries) + ("…" if len(content.entries) > _MOST_ENTRIES else "")
        yield f"{texts['entries'].format(count=len(content.entries), size=size, entries=listed)}."
    yield from (f"- {_table(table, texts)}." for table in content.tables[:_MOST_TABLES])
    headings = dict.fromkeys(short(section.heading) for section in content.sections if section.heading)
    if headings and not content.tables:
        yield f"{texts['headings'].format(headings='; '.join([*headings][:_MOST_HEADINGS]))}."


def _table(table: AttachedTable, texts: dict[str, str]) -> str:
    columns = ", ".join(f"“{short(name)}”" for name in table.header[:_MOST_COLUMNS] if name)
    columns += "…" if len(table.header) > _MOST_COLUMNS else ""
    name = f" “{short(table.name)}”" if table.name else ""
    told = texts["table"].format(name=name, rows=len(table.rows), columns=columns)
    return told + (texts["cut"] if table.is_cut else "")


def _size(count: int, language: Language) -> str:
    unit = next((at for at in (3, 2, 1) if count >= 1024**at), 0)
    shown = f"{count / 1024**unit:.1f}".removesuffix(".0")
    return f"{shown.replace('.', ',') if language == 'vi' else shown} {('byte', 'KB', 'MB', 'GB')[unit]}"
