"""What changed, in the asker's language: which document took the place of which, with their days, and each statement
before and now."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from app.domain.knowledge import Language
from extras.changes.differences import Difference, Statement
from extras.changes.successions import Standing, Succession
from extras.changes.telling import Selection

_LONGEST = 280
"""Letters of a statement that are shown."""
_TEXTS: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_name("report.toml").read_text("utf-8"))


@dataclass(frozen=True, slots=True)
class Days:
    """The two days that are compared."""

    before: date | None
    """None = no day was named: the latest change of each document counts."""
    now: date


@dataclass(frozen=True, slots=True)
class Change:
    """What became of one document, with what is told of it."""

    succession: Succession
    selection: Selection | None = None
    """Of two texts."""
    says: tuple[Statement, ...] = ()
    """Of a document that is new, or stands unchanged."""

    @property
    def is_change(self) -> bool:
        """Whether anything became different."""
        return self.succession.kind != "unchanged"


def write_report(subject: str, days: Days, changes: Sequence[Change], language: Language) -> str:
    """The whole answer; what is unchanged is told only where nothing changed. Empty without any document."""
    told, kept = ([one for one in changes if one.is_change is wanted] for wanted in (True, False))
    if not changes:
        return ""
    texts, has_day = _TEXTS[language], days.before is not None
    values = {"subject": _lower(subject), "now": _day(days.now, language)}
    values["before"] = _day(days.before, language) if days.before else ""
    if not told:
        listed = _standing(kept, "kept" if has_day else "current", language)
        return texts["nothing" if has_day else "unknown"].format(kept=listed, titles=listed, **values)
    parts = [texts["between" if has_day else "latest"].format(**values)]
    parts += ["\n".join(_lines(change, language)) for change in told]
    if kept:
        parts.append(texts["unchanged"].format(kept=_standing(kept, "current", language)))
    return "\n\n".join(parts)


def source_line(changes: Sequence[Change], language: Language) -> str:
    """Where the answer comes from: the titles of what was compared."""
    titles = dict.fromkeys(
        f"“{side.version.title}”"
        for change in changes
        for side in (change.succession.old, change.succession.new)
        if side
    )
    return _TEXTS[language]["sources"].format(titles=", ".join(titles))


def _standing(changes: Sequence[Change], name: str, language: Language) -> str:
    """The documents that stand, in a list."""
    standing = [change.succession.new for change in changes if change.succession.new]
    form = _TEXTS[language][name]
    told = [form.format(title=one.version.title, since=_day(one.begins, language)) for one in standing]
    return _TEXTS[language]["and"].join([", ".join(told[:-1]), told[-1]]) if len(told) > 1 else "".join(told)


def _lines(change: Change, language: Language) -> list[str]:
    """A document's own sentence, then a line for each statement."""
    texts = _TEXTS[language]
    lines = [_of_document(change.succession, language)]
    lines += [f"- {texts['says'].format(heading=_heading(one), new=_shown(one))}" for one in change.says]
    if (selection := change.selection) is None:
        return lines
    lines += [f"- {_of_statement(texts, one)}" for one in selection.told]
    if selection.unchanged:
        lines.append(texts["same_part"].format(text=_shown(selection.unchanged)))
    elif not selection.told:
        lines.append(texts["no_words"])
    elif selection.left_out:
        lines.append(texts["more"].format(count=selection.left_out))
    return lines


def _of_document(succession: Succession, language: Language) -> str:
    texts, old, new = _TEXTS[language], succession.old, succession.new
    kind: str = succession.kind
    if old and new and old.version.document_id == new.version.document_id:
        kind = "version"
    return texts[kind].format(
        old=old.version.title if old else "",
        new=new.version.title if new else "",
        since=_day(succession.since, language),
        days=_days(old, language) if old else "",
    )


def _of_statement(texts: dict[str, str], one: Difference) -> str:
    side = one.new or one.old
    heading = _heading(side) if side else ""
    if one.old and one.new:
        return texts["value"].format(heading=heading, old=_shown(one.old), new=_shown(one.new))
    if one.new:
        return texts["added_line"].format(heading=heading, new=_shown(one.new))
    return texts["removed_line"].format(heading=heading, old=_shown(one.old) if one.old else "")


def _heading(statement: Statement) -> str:
    last = statement.heading.rpartition(" › ")[2].rstrip("?:. ")
    return f"{last} — " if last else ""


def _shown(statement: Statement) -> str:
    text = statement.text.strip().rstrip(";.,")
    return f"“{text}”" if len(text) <= _LONGEST else f"“{text[:_LONGEST].rsplit(' ', 1)[0]}…”"


def _days(standing: Standing, language: Language) -> str:
    texts, since = _TEXTS[language], _day(standing.begins, language)
    if standing.ends is None or not standing.has_days:
        return texts["from"].format(since=since)
    return texts["from_to"].format(since=since, until=_day(standing.ends, language))


def _day(day: date, language: Language) -> str:
    return f"{day:%d/%m/%Y}" if language == "vi" else f"{day.day} {day:%B %Y}"


def _lower(subject: str) -> str:
    """A subject within a sentence; names and acronyms stay."""
    return subject[:1].lower() + subject[1:] if subject[1:2].islower() else subject
