"""DOCX: the document as a reader sees it. Hidden text, tracked deletions, comments and field codes stay out."""

import io
import re
import zipfile
from collections.abc import Iterable, Iterator

from lxml import etree

from app.ingestion.parsing.archive import attribute, child, elements, local, related, root_of
from app.ingestion.parsing.draft import Draft
from app.ingestion.parsing.outcome import WarningCode
from app.ingestion.parsing.word_styles import Label, Numbering, Style, Styles, fill_of, numbering_of, outline_level

_ITEM_LABEL = re.compile(r"(?:\d{1,3}|[a-zđ])[.)]|[-•–]", re.IGNORECASE)
"""What a list of Markdown may begin its items with."""
_WRAPPERS = ("customXml", "ins", "moveTo", "sdtContent", "smartTag")
_READ = ("officeDocument", "core-properties", "styles", "numbering", "footnotes", "endnotes", "comments")
_CONTENTS = "table of contents"
_MAX_COLUMNS = 200


def read_word(archive: io.BytesIO, draft: Draft) -> None:
    """Fill the draft from a rebuilt DOCX archive."""
    with zipfile.ZipFile(archive) as parts:
        about = related(parts)
        paths = about | related(parts, about["officeDocument"])
        roots = {kind: root_of(parts.read(path)) for kind, path in paths.items() if kind in _READ}
    title = next(elements(roots.get("core-properties"), "title"), None)
    draft.entitle(None if title is None else title.text)
    reader = _Word(roots, draft)
    reader.blocks(child(roots["officeDocument"], "body"))
    reader.notes()
    draft.warn(WarningCode.HIDDEN_TEXT_DROPPED, reader.runs.hidden)
    remarks = sum(1 for _ in elements(roots.get("comments"), "comment"))
    draft.warn(WarningCode.REVIEW_MARKS_DROPPED, reader.runs.deleted + remarks)


class _Word:
    def __init__(self, roots: dict[str, etree._Element], draft: Draft):
        self._draft, self._roots = draft, roots
        self._styles = Styles(roots.get("styles"))
        self._numbering = Numbering(roots.get("numbering"))
        self.runs = Runs(self._styles)
        self.runs.is_on_colour = child(roots["officeDocument"], "background") is not None

    def blocks(self, container: Iterable[etree._Element] | None) -> None:
        """Paragraphs, tables and what wraps them, in order."""
        for element in container if container is not None else ():
            match local(element):
                case "p":
                    self._paragraph(element)
                case "tbl":
                    self._table(element)
                case "sdt":
                    gallery = next(elements(element, "docPartGallery"), None)
                    content = child(element, "sdtContent")
                    # A table of contents repeats every heading with a page number behind it.
                    if content is not None and attribute(gallery, "val").lower() != _CONTENTS:
                        self.blocks(content)
                case "AlternateContent":
                    for choice in list(element)[:1]:
                        self.blocks(choice)
                case name if name in _WRAPPERS:
                    self.blocks(element)

    def notes(self) -> None:
        """The footnotes and endnotes that the text refers to, numbered as their references are."""
        for number, (kind, name) in enumerate(self.runs.references, 1):
            for note in (one for one in self._roots.get(kind, ()) if attribute(one, "id") == name):
                self._draft.paragraph(f"[{number}] " + " ".join(self._texts(note)))

    def _paragraph(self, element: etree._Element) -> None:
        properties = child(element, "pPr")
        style = self._style(properties)
        if style.name.startswith("toc "):
            return
        text, boxes = self.runs.read(element, style)
        label = self._label(properties, style) if text.strip() else None
        level = outline_level(properties)
        level = style.level if level is None else level
        if style.name == "title" and text.strip():
            self._draft.title = self._draft.title or text
            self._draft.heading(1, text)
        elif level is not None:
            self._draft.heading(level + 1, f"{label.text} {text}" if label else text)
        elif label is None:
            self._draft.paragraph(text)
        else:
            self._item(label, text)
        for box in boxes:
            self._box(box)

    def _item(self, label: Label, text: str) -> None:
        if not label.text or _ITEM_LABEL.fullmatch(label.text):
            self._draft.item(text, label.depth, label.text or "-")
        else:
            self._draft.paragraph(f"{label.text} {text}")

    def _box(self, box: etree._Element) -> None:
        """A text box has a background of its own."""
        before, self.runs.is_on_colour = self.runs.is_on_colour, True
        self.blocks(box)
        self.runs.is_on_colour = before

    def _style(self, properties: etree._Element | None) -> Style:
        named = attribute(child(properties, "pStyle"), "val")
        return self._styles.style(named or self._styles.default_paragraph)

    def _label(self, properties: etree._Element | None, style: Style) -> Label | None:
        listed = numbering_of(properties) or style.numbering
        return self._numbering.label(*listed) if listed else None

    def _table(self, element: etree._Element) -> None:
        shaded = attribute(child(element, "tblPr", "tblStyle"), "val") in self._styles.shaded_tables
        before, self.runs.is_on_colour = self.runs.is_on_colour, self.runs.is_on_colour or shaded
        rows = [_cells(row) for row in _nested(element, "tr")]
        self.runs.hidden += sum(map(_is_hidden_row, element))
        if len(rows) < 2 or max(map(len, rows)) < 2 or self._holds_headings(rows):
            for cell in (cell for row in rows for cell in row):
                self.blocks(cell)
        else:
            self._draft.table(self._table_rows(rows))
        self.runs.is_on_colour = before

    def _holds_headings(self, rows: list[list[etree._Element]]) -> bool:
        """Whether the table only lays the page out."""
        paragraphs = (child(one, "pPr") for row in rows for cell in row for one in cell if local(one) == "p")
        return any(outline_level(found) is not None or self._style(found).level is not None for found in paragraphs)

    def _table_rows(self, rows: list[list[etree._Element]]) -> Iterator[list[str]]:
        """The texts of a table; a cell that spans rows is repeated in each of them."""
        above: list[str] = []
        for row in rows:
            texts = [""] * _before(row)
            for cell in row:
                properties = child(cell, "tcPr")
                merged = child(properties, "vMerge")
                at = len(texts)
                if merged is not None and attribute(merged, "val") != "restart":
                    texts.append(above[at] if at < len(above) else "")
                else:
                    texts.append(" ".join(self._cell(cell, fill_of(properties))))
                span = attribute(child(properties, "gridSpan"), "val")
                texts += [""] * (min(int(span), _MAX_COLUMNS) - 1 if span.isdecimal() else 0)
            above = texts
            yield texts

    def _cell(self, cell: etree._Element, fill: str | None) -> list[str]:
        before = self.runs.is_on_colour
        self.runs.is_on_colour = before or fill not in (None, "FFFFFF")
        texts = self._texts(cell)
        self.runs.is_on_colour = before
        return texts

    def _texts(self, container: etree._Element) -> list[str]:
        """Everything in a cell or note as plain pieces."""
        texts: list[str] = []
        for element in container:
            match local(element):
                case "p":
                    properties = child(element, "pPr")
                    style = self._style(properties)
                    text, boxes = self.runs.read(element, style)
                    label = self._label(properties, style) if text.strip() else None
                    texts += [f"{label.text} {text}".strip() if label else text]
                    texts += [piece for box in boxes for piece in self._texts(box)]
                case "tbl":
                    texts += [
                        "; ".join(" ".join(self._texts(cell)) for cell in _cells(row)) for row in _nested(element, "tr")
                    ]
                case "sdt" | "customXml" | "ins" | "moveTo" | "sdtContent":
                    texts += self._texts(element)
        return list(filter(None, texts))


def _nested(element: etree._Element, name: str) -> Iterator[etree._Element]:
    """Children of a name, also those inside content controls; deleted and hidden rows are left out."""
    for one in element:
        if local(one) == name:
            if not _is_hidden_row(one):
                yield one
        elif local(one) in ("sdt", *_WRAPPERS):
            yield from _nested(one, name)


def _is_hidden_row(element: etree._Element) -> bool:
    return child(element, "trPr", "del") is not None or child(element, "trPr", "hidden") is not None


def _cells(row: etree._Element) -> list[etree._Element]:
    return list(_nested(row, "tc"))


def _before(row: list[etree._Element]) -> int:
    """Grid columns a row leaves free before its first cell."""
    parent = row[0].getparent() if row else None
    value = attribute(child(parent, "trPr", "gridBefore"), "val")
    return min(int(value), _MAX_COLUMNS) if value.isdecimal() else 0


_DELETED = ("del", "moveFrom")
_GLYPHS = {"tab": " ", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "ptab": " "}
_IGNORED = ("pPr", "rPr", "instrText", "delText", "delInstrText", "rt", "object", "control")


class Runs:
    """Reads paragraphs, and counts what it leaves out."""

    def __init__(self, styles: Styles):
        self._styles = styles
        self.is_on_colour = False
        """Whether the background is not known to be white: white text may well be seen."""
        self.hidden = 0
        self.deleted = 0
        self.references: list[tuple[str, str]] = []
        """(footnotes or endnotes, id) in the order of the references."""
        self._fields: list[bool] = []
        """Open fields, and whether each is still at its instruction: what stands there is code, not text."""

    def read(self, paragraph: etree._Element, style: Style) -> tuple[str, list[etree._Element]]:
        """The text of a paragraph, and the contents of text boxes anchored in it."""
        texts: list[str] = []
        boxes: list[etree._Element] = []
        before = self.is_on_colour
        self.is_on_colour = before or fill_of(child(paragraph, "pPr")) not in (None, "FFFFFF")
        self._inline(paragraph, style, texts, boxes)
        self.is_on_colour = before
        return "".join(texts), boxes

    def _inline(self, element: etree._Element, style: Style, texts: list[str], boxes: list[etree._Element]) -> None:
        for one in element:
            name = local(one)
            if name == "r":
                self._run(one, style, texts, boxes)
            elif name in _DELETED:
                self.deleted += any((text.text or "").strip() for text in one.iter("{*}delText", "{*}t"))
            elif name == "AlternateContent":
                for choice in list(one)[:1]:
                    self._inline(choice, style, texts, boxes)
            elif name == "txbxContent":
                boxes.append(one)
            elif name not in _IGNORED:
                self._glyph(one, name, texts)
                self._inline(one, style, texts, boxes)

    def _run(self, run: etree._Element, style: Style, texts: list[str], boxes: list[etree._Element]) -> None:
        look = self._styles.look(child(run, "rPr"), style)
        found: list[str] = []
        self._inline(run, style, found, boxes)
        if found and look.is_hidden(on_colour=self.is_on_colour):
            self.hidden += bool("".join(found).strip())
        else:
            texts += found

    def _glyph(self, element: etree._Element, name: str, texts: list[str]) -> None:
        match name:
            case "t" if not any(self._fields):
                texts.append(element.text or "")
            case "footnoteReference" | "endnoteReference":
                self.references.append((name.removesuffix("Reference") + "s", attribute(element, "id")))
                texts.append(f" [{len(self.references)}]")
            case "fldChar":
                self._field(attribute(element, "fldCharType"))
            case _ if name in _GLYPHS:
                texts.append(_GLYPHS[name])

    def _field(self, mark: str) -> None:
        if mark == "begin":
            self._fields.append(True)
        elif mark == "separate" and self._fields:
            self._fields[-1] = False
        elif mark == "end" and self._fields:
            self._fields.pop()
