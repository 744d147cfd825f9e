"""DOCX: the document as a reader sees it. Hidden text, tracked deletions, comments and field codes stay out."""

import io
import re
import zipfile
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from lxml import etree

from app.ingestion.parsing.archive import attribute, child, elements, local, related, root_of, value_at
from app.ingestion.parsing.draft import Draft
from app.ingestion.parsing.outcome import WarningCode
from extras.readers.word_styles import Label, Numbering, Style, Styles, fill_of, numbering_of, outline_level

_ITEM_LABEL = re.compile(r"(?:\d{1,3}|[a-zđ])[.)]|[-•–]", re.IGNORECASE)
"""What a list of Markdown may begin its items with."""
_READ = ("officeDocument", "core-properties", "styles", "numbering", "footnotes", "endnotes", "comments")
_DELETED = ("{*}del", "{*}moveFrom")
_NEVER_SHOWN = (
    *_DELETED, "{*}instrText", "{*}delText", "{*}delInstrText", "{*}rt", "{*}object", "{*}control", "{*}sdtPr",
)  # fmt: skip
_WRAPPERS = (
    "{*}AlternateContent", "{*}Choice", "{*}Fallback", "{*}sdt", "{*}sdtContent", "{*}customXml", "{*}ins",
    "{*}moveTo", "{*}smartTag",
)  # fmt: skip
"""Elements around paragraphs, rows, cells and runs that change nothing of how these look."""
_GLYPHS = {"tab": " ", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "ptab": " "}
_MAX_COLUMNS = 200


def read_word(content: bytes, draft: Draft) -> None:
    """Fill the draft from a checked DOCX archive."""
    with zipfile.ZipFile(io.BytesIO(content)) as parts:
        about = related(parts)
        paths = about | related(parts, about["officeDocument"])
        roots = {kind: root_of(parts.read(path)) for kind, path in paths.items() if kind in _READ}
    title = next(elements(roots.get("core-properties"), "title"), None)
    draft.entitle(None if title is None else title.text)
    draft.warn(WarningCode.REVIEW_MARKS_DROPPED, sum(1 for _ in elements(roots.get("comments"), "comment")))
    for kind in {"officeDocument", "footnotes", "endnotes"} & roots.keys():
        _drop_unseen(roots[kind], draft)
    reader = _Word(roots, draft)
    reader.blocks(child(roots["officeDocument"], "body"))
    reader.notes()


def _drop_unseen(root: etree._Element, draft: Draft) -> None:
    """Leave of a part what is displayed, whatever its styles, and nothing around its paragraphs, rows and runs."""
    for either in list(elements(root, "AlternateContent")):
        for other in list(either)[1:]:
            either.remove(other)
    for row in list(elements(root, "tr")):
        if child(row, "trPr", "del") is not None or child(row, "trPr", "hidden") is not None:
            draft.warn(WarningCode.HIDDEN_TEXT_DROPPED)
            _take_out(row)
    for control in list(elements(root, "sdt")):
        gallery = next(elements(child(control, "sdtPr"), "docPartGallery"), None)
        # A table of contents repeats every heading with a page number behind it.
        if attribute(gallery, "val").lower() == "table of contents":
            _take_out(control)
    for gone in root.iter(*_DELETED):
        is_text = any((text.text or "").strip() for text in gone.iter("{*}delText", "{*}t"))
        draft.warn(WarningCode.REVIEW_MARKS_DROPPED, int(is_text))
    etree.strip_elements(root, *_NEVER_SHOWN, with_tail=False)
    etree.strip_tags(root, *_WRAPPERS)


def _take_out(element: etree._Element) -> None:
    parent = element.getparent()
    if parent is not None:
        parent.remove(element)


class _Paragraph(NamedTuple):
    style: Style
    level: int | None
    """Of a heading, from 0."""
    label: Label | None
    text: str
    boxes: list[etree._Element]
    """The contents of text boxes anchored in it."""


class _Word:
    """Reads a document from which everything is gone that is never displayed; text may still look like nothing."""

    def __init__(self, roots: dict[str, etree._Element], draft: Draft):
        self._draft, self._roots = draft, roots
        self._styles = Styles(roots.get("styles"))
        self._numbering = Numbering(roots.get("numbering"))
        self._has_background = child(roots["officeDocument"], "background") is not None
        self._references: list[tuple[str, str]] = []
        """(footnotes or endnotes, id) in the order of the references."""
        self._fields: list[bool] = []
        """Open fields, and whether each is still at its instruction: what stands there is code, not text."""

    def blocks(self, container: Iterable[etree._Element] | None) -> None:
        """Paragraphs and tables in order."""
        for element in container if container is not None else ():
            match local(element):
                case "p":
                    self._block(self._paragraph(element))
                case "tbl":
                    self._table(element)

    def notes(self) -> None:
        """The footnotes and endnotes that the text refers to, numbered as their references are."""
        for number, (kind, name) in enumerate(self._references, 1):
            for note in (one for one in self._roots.get(kind, ()) if attribute(one, "id") == name):
                self._draft.paragraph(f"[{number}] {self._line(note)}")

    def _block(self, paragraph: _Paragraph) -> None:
        style, level, label, text, boxes = paragraph
        if style.name.startswith("toc "):
            return
        if style.name == "title" and text.strip():
            self._draft.title = self._draft.title or text
            self._draft.heading(1, text)
        elif level is not None:
            self._draft.heading(level + 1, f"{label.text} {text}" if label else text)
        elif label and (not label.text or _ITEM_LABEL.fullmatch(label.text)):
            self._draft.item(text, label.depth, label.text or "-")
        else:
            self._draft.paragraph(f"{label.text} {text}" if label else text)
        for box in boxes:
            self.blocks(box)

    def _paragraph(self, element: etree._Element) -> _Paragraph:
        properties = child(element, "pPr")
        style = self._style(properties)
        is_on_colour = self._is_on_colour(element)
        boxes = list(elements(element, "txbxContent"))
        for box in boxes:
            _take_out(box)
        text = self._text(element, style, is_on_colour=is_on_colour)
        listed = (numbering_of(properties) or style.numbering) if text.strip() else None
        label = self._numbering.label(*listed) if listed else None
        return _Paragraph(style, self._level(properties, style), label, text, boxes)

    def _style(self, properties: etree._Element | None) -> Style:
        return self._styles.style(value_at(properties, "pStyle") or self._styles.default_paragraph)

    def _level(self, properties: etree._Element | None, style: Style) -> int | None:
        level = outline_level(properties)
        return style.level if level is None else level

    def _is_on_colour(self, paragraph: etree._Element) -> bool:
        """Whether the background is not known to be white: white text may well be seen. Text boxes have their own."""
        if self._has_background or fill_of(child(paragraph, "pPr")) not in (None, "FFFFFF"):
            return True
        return any(
            local(one) == "txbxContent"
            or fill_of(child(one, "tcPr")) not in (None, "FFFFFF")
            or value_at(one, "tblPr", "tblStyle") in self._styles.shaded_tables
            for one in paragraph.iterancestors("{*}tc", "{*}tbl", "{*}txbxContent")
        )

    def _text(self, element: etree._Element, style: Style, *, is_on_colour: bool) -> str:
        """What is seen of a paragraph or a part of it; runs that cannot be read are counted."""
        texts: list[str] = []
        for one in element:
            name = local(one)
            if name in ("pPr", "rPr"):
                continue
            text = self._glyph(one, name) + self._text(one, style, is_on_colour=is_on_colour)
            if text and name == "r" and self._styles.look(child(one, "rPr"), style).is_hidden(on_colour=is_on_colour):
                self._draft.warn(WarningCode.HIDDEN_TEXT_DROPPED, int(bool(text.strip())))
            else:
                texts.append(text)
        return "".join(texts)

    def _glyph(self, element: etree._Element, name: str) -> str:
        """What an element shows by itself; opens and closes fields."""
        match name:
            case "t" if not any(self._fields):
                return element.text or ""
            case "footnoteReference" | "endnoteReference":
                self._references.append((name.removesuffix("Reference") + "s", attribute(element, "id")))
                return f" [{len(self._references)}]"
            case "fldChar":
                mark = attribute(element, "fldCharType")
                if mark == "begin":
                    self._fields.append(True)
                elif self._fields and mark in ("separate", "end"):
                    self._fields[-1:] = [False] if mark == "separate" else []
        return _GLYPHS.get(name, "")

    def _table(self, element: etree._Element) -> None:
        rows = [row.findall("{*}tc") for row in element.findall("{*}tr")]
        if len(rows) < 2 or max(map(len, rows)) < 2 or self._holds_headings(rows):
            for cell in (cell for row in rows for cell in row):
                self.blocks(cell)
        else:
            self._draft.table(self._table_rows(rows))

    def _holds_headings(self, rows: list[list[etree._Element]]) -> bool:
        """Whether the table only lays the page out."""
        paragraphs = (child(one, "pPr") for row in rows for cell in row for one in cell if local(one) == "p")
        return any(self._level(found, self._style(found)) is not None for found in paragraphs)

    def _table_rows(self, rows: list[list[etree._Element]]) -> Iterator[list[str]]:
        """The texts of a table; a cell that spans rows is repeated in each of them."""
        above: list[str] = []
        for row in rows:
            texts = [""] * (_columns(row[0].getparent(), "trPr", "gridBefore") if row else 0)
            for cell in row:
                merged = child(cell, "tcPr", "vMerge")
                at = len(texts)
                if merged is not None and attribute(merged, "val") != "restart":
                    texts.append(above[at] if at < len(above) else "")
                else:
                    texts.append(self._line(cell))
                texts += [""] * (_columns(cell, "tcPr", "gridSpan") - 1)
            above = texts
            yield texts

    def _line(self, container: etree._Element) -> str:
        """Everything in a cell or note on one line."""
        return " ".join(filter(None, self._pieces(container)))

    def _pieces(self, container: etree._Element) -> Iterator[str]:
        for element in container:
            if local(element) == "p":
                paragraph = self._paragraph(element)
                yield f"{paragraph.label.text} {paragraph.text}".strip() if paragraph.label else paragraph.text
                yield from map(self._line, paragraph.boxes)
            elif local(element) == "tbl":
                yield from ("; ".join(map(self._line, row.findall("{*}tc"))) for row in element.findall("{*}tr"))


def _columns(element: etree._Element | None, *names: str) -> int:
    """Grid columns that something takes, by a property of it."""
    written = value_at(element, *names)
    return min(int(written), _MAX_COLUMNS) if written.isdecimal() else 0
