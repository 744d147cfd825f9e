"""HTML: headings, paragraphs, lists, tables and code a visitor sees. Nothing is fetched and no script is run."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from app.ingestion.parsing.archive import forbid_declarations
from app.ingestion.parsing.draft import Draft
from app.ingestion.parsing.encoding import decode
from app.ingestion.parsing.formats.web_styles import Look, declarations, first_look, hidden_by_sheets, hides, look_under
from app.ingestion.parsing.outcome import WarningCode

_DOCTYPE = re.compile(r"<!doctype\s[^>\[]{0,500}>", re.I)
_DECLARED = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?([A-Za-z0-9_-]{1,40})""", re.I)
_SILENT = frozenset(
    {"script", "style", "template", "noscript", "head", "iframe", "object", "embed", "svg", "canvas", "audio", "video",
     "datalist", "dialog", "noembed", "noframes"}
)  # fmt: skip
_BLOCKS = frozenset(
    {"p", "div", "section", "article", "main", "header", "footer", "nav", "aside", "blockquote", "figure", "figcaption",
     "address", "form", "fieldset", "legend", "details", "summary", "dl", "dt", "dd", "ul", "ol", "table", "caption",
     "thead", "tbody", "tfoot", "tr", "td", "th", "hr", "body", "center", "option"}
)  # fmt: skip
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LISTS = ("ul", "ol", "menu")
_MAX_SPAN, _MAX_COLUMNS = 200, 200


class _Open(NamedTuple):
    """An element whose end has not come yet."""

    node: LexborNode
    look: Look


def read_web_page(content: bytes, draft: Draft) -> None:
    """Fill the draft from an HTML file. Raises `ParseFailed` (DTD_FORBIDDEN) for a page that declares entities."""
    named = _DECLARED.search(content[:4096])
    decoded = decode(content, named[1].decode() if named else "")
    draft.warn(WarningCode.ENCODING_GUESSED, int(decoded.is_guessed))
    read_markup(decoded.text, draft)


def read_markup(markup: str, draft: Draft) -> None:
    """Fill the draft from decoded HTML. Raises `ParseFailed` (DTD_FORBIDDEN)."""
    forbid_declarations(_DOCTYPE.sub("", markup))
    page = LexborHTMLParser(markup)
    title = page.css_first("title")
    draft.title = draft.title or (title.text() if title is not None else "")
    if page.body is not None:
        _Page(draft, hidden_by_sheets(page)).read(page.body, first_look(markup))


class _Page:
    def __init__(self, draft: Draft, hidden: set[int]):
        self._draft = draft
        self._hidden = hidden
        self._texts: list[str] = []
        self._lists: list[int | None] = []
        """Open lists: the number of the last item, None in a list of bullets."""
        self._level = 0
        """Of the heading that is open; 0 outside."""
        self._mark = ""
        """Of the item that has begun and has no text yet."""

    def read(self, body: LexborNode, look: Look) -> None:
        """Everything visible below `body`, in order."""
        node: LexborNode | None = body
        stack: list[_Open] = []
        while node is not None:
            inside = self._enter(node, stack[-1].look if stack else look)
            if inside is not None and node.child is not None:
                stack.append(_Open(node, inside))
                node = node.child
                continue
            if inside is not None:
                self._leave(node.tag or "")
            while stack and node.next is None:
                node = stack.pop().node
                self._leave(node.tag or "")
            node = node.next if stack else None
        self._flush()

    def _enter(self, node: LexborNode, look: Look) -> Look | None:
        """What is inherited inside `node`; None when nothing inside is to be read here."""
        tag = node.tag or ""
        if tag == "-text":
            self._text(node.text_content or "", look)
            return None
        if tag.startswith("-") or tag in _SILENT:
            return None
        inside = self._look(node, look)
        if inside is None:
            return None
        if tag == "pre":
            self._flush()
            self._code(node)
            return None
        if tag == "table" and (rows := self._rows(node, inside)):
            self._flush()
            self._draft.table(rows)
            return None
        self._open(tag)
        return inside

    def _look(self, node: LexborNode, look: Look) -> Look | None:
        """None when the element is hidden; that is counted once for all that is inside."""
        attributes = node.attributes
        style = declarations(attributes.get("style")) if "style" in attributes else {}
        if "bgcolor" in attributes:
            style.setdefault("background-color", (attributes["bgcolor"] or "").lower())
        if node.tag == "font" and attributes.get("color"):
            style.setdefault("color", (attributes["color"] or "").lower())
        is_hidden = "hidden" in attributes or node.mem_id in self._hidden or (bool(style) and hides(style))
        if is_hidden:
            self._draft.warn(WarningCode.HIDDEN_TEXT_DROPPED, int(bool((node.text() or "").strip())))
            return None
        return look_under(look, style) if style else look

    def _text(self, text: str, look: Look) -> None:
        if look.is_hidden and text.strip():
            self._draft.warn(WarningCode.HIDDEN_TEXT_DROPPED)
        elif text:
            self._texts.append(re.sub(r"\s+", " ", text))

    def _open(self, tag: str) -> None:
        if tag in _HEADINGS:
            self._flush()
            self._level = _HEADINGS[tag]
        elif tag in _LISTS:
            self._flush()
            self._lists.append(0 if tag == "ol" else None)
        elif tag == "li":
            self._flush()
            self._mark = self._next_mark()
        elif tag in _BLOCKS:
            self._flush()
        elif tag == "br":
            self._texts.append("\n")

    def _leave(self, tag: str) -> None:
        if tag in _HEADINGS or tag in _BLOCKS or tag in _LISTS or tag == "li":
            self._flush()
        if tag in _HEADINGS:
            self._level = 0
        elif tag in _LISTS and self._lists:
            self._lists.pop()
        elif tag == "li":
            self._mark = ""

    def _next_mark(self) -> str:
        number = self._lists[-1] if self._lists else None
        if number is None:
            return "-"
        self._lists[-1] = number + 1
        return f"{number + 1}."

    def _flush(self) -> None:
        text = "".join(self._texts)
        self._texts = []
        if not text.strip():
            return
        if self._level:
            self._draft.heading(self._level, text)
        elif self._mark:
            self._draft.item(text, max(0, len(self._lists) - 1), self._mark)
            self._mark = ""
        else:
            self._draft.paragraph(text)

    def _code(self, node: LexborNode) -> None:
        text = (node.text() or "").strip("\n")
        if text.strip():
            self._draft.verbatim(f"```\n{text}\n```")

    def _rows(self, table: LexborNode, look: Look) -> list[list[str]]:
        """The cells of a table of facts; empty for one that only lays the page out."""
        if table.css_first("table table, table h1, table h2, table h3, table h4, table ul table") is not None:
            return []
        rows = [row for row in table.css("tr") if not self._is_hidden(row)]
        if len(rows) < 2 or max(sum(1 for _ in _cells(row)) for row in rows) < 2:
            return []
        held: dict[int, tuple[int, str]] = {}
        return [self._row(row, look, held) for row in rows]

    def _row(self, row: LexborNode, look: Look, held: dict[int, tuple[int, str]]) -> list[str]:
        """`held`: by column, for how many more rows a cell from above reaches down, and its text."""
        texts: list[str] = []
        cells = _cells(row)
        while len(texts) < _MAX_COLUMNS:
            at = len(texts)
            if at in held:
                left, text = held.pop(at)
                texts.append(text)
                held |= {at: (left - 1, text)} if left > 1 else {}
            elif (cell := next(cells, None)) is not None:
                text = self._cell(cell, look)
                down = _span(cell, "rowspan")
                held |= {at: (down - 1, text)} if down > 1 else {}
                texts += [text, *[""] * (_span(cell, "colspan") - 1)]
            elif any(column > at for column in held):
                texts.append("")
            else:
                break
        return texts

    def _cell(self, cell: LexborNode, look: Look) -> str:
        """The visible text of a cell on one line."""
        inner = _Page(cell_draft := Draft(self._draft.limits), self._hidden)
        inner.collect(cell, look)
        self._draft.warn(WarningCode.HIDDEN_TEXT_DROPPED, cell_draft.warnings[WarningCode.HIDDEN_TEXT_DROPPED])
        return "".join(inner._texts)

    def collect(self, node: LexborNode, look: Look) -> None:
        """The visible text below `node` into one piece, blocks apart by a space."""
        if (node.tag or "") == "-text":
            self._text(node.text_content or "", look)
            return
        if (node.tag or "-").startswith("-") or node.tag in _SILENT:
            return
        inside = self._look(node, look)
        if inside is None:
            return
        if node.tag in _BLOCKS or node.tag in ("br", "li"):
            self._texts.append(" ")
        child = node.child
        while child is not None:
            self.collect(child, inside)
            child = child.next

    def _is_hidden(self, row: LexborNode) -> bool:
        return self._look(row, Look()) is None


def _cells(row: LexborNode) -> Iterator[LexborNode]:
    cell = row.child
    while cell is not None:
        if cell.tag in ("td", "th"):
            yield cell
        cell = cell.next


def _span(cell: LexborNode, name: str) -> int:
    value = (cell.attributes.get(name) or "").strip()
    return min(max(int(value), 1), _MAX_SPAN) if value.isdecimal() and len(value) < 6 else 1
