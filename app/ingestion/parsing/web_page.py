"""HTML: what a visitor sees, as Markdown. Nothing is fetched and no script is run.

First everything goes that is not displayed (`web_styles` says what hides), then what is left is converted by a library.
"""

import re
from collections.abc import Iterator

from html_to_markdown import ConversionOptions, PreprocessingOptions, convert
from selectolax.lexbor import LexborHTMLParser, LexborNode

from app.ingestion.parsing.archive import forbid_declarations
from app.ingestion.parsing.draft import Draft
from app.ingestion.parsing.outcome import ParseFailed, ParseFailure, WarningCode
from app.ingestion.parsing.web_styles import Look, declarations, first_look, hidden_by_sheets, hides, look_under

_DOCTYPE = re.compile(r"<!doctype\s[^>\[]{0,500}>", re.I)
_DECLARED = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?([A-Za-z0-9_-]{1,40})""", re.I)
_SILENT = frozenset(
    {"script", "style", "template", "noscript", "head", "iframe", "object", "embed", "svg", "canvas", "audio", "video",
     "datalist", "dialog", "noembed", "noframes", "xmp", "plaintext", "hr"}
)  # fmt: skip
_MARKS = (
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "button", "cite", "code", "data", "del", "dfn", "em", "font", "i",
    "ins", "kbd", "label", "mark", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "time", "tt",
    "u", "var",
)  # fmt: skip
"""Elements inside a line: their text stays as it is, without signs around it."""
_PLAIN_BLOCKS = "caption, summary, blockquote, legend"
"""Blocks whose text is to stand without signs too."""
_OPTIONS = ConversionOptions(
    extract_metadata=False, compact_tables=True, autolinks=False, bullets="-", skip_images=True, hidden_content="all",
    expand_abbreviations=False, include_blockquote_citations=False, preprocessing=PreprocessingOptions(enabled=False),
)  # fmt: skip
_HEADINGS = "h1, h2, h3, h4, h5, h6"
_BLOCKS = ("p", "div", "section", "article", "ul", "ol", "table", "pre", *_HEADINGS.split(", "))
_CODE = re.compile(r"(<pre\b.*?</pre>)", re.S)
_LINE_END = re.compile(r"\s*\n\s*")
_ESCAPED = re.compile(r"^([ \t]*(?:(?:-|\d+\.)[ \t]+)*\d*)\\(?=[-+*#>.)=_~|])", re.M)
"""Quotes must be found as they were written: no backslash in front of a number or a dash that begins a line."""
_MAX_SPAN, _MAX_COLUMNS, _MAX_DEPTH = 200, 200, 900
"""The library passes over what lies deeper than 1,024 elements."""


def read_web_page(content: bytes, draft: Draft) -> None:
    """Fill the draft from an HTML file. Raises `ParseFailed` (DTD_FORBIDDEN) for a page that declares entities."""
    named = _DECLARED.search(content[:4096])
    read_markup(draft.decoded(content, named[1].decode() if named else ""), draft)


def read_markup(markup: str, draft: Draft) -> None:
    """Fill the draft from decoded HTML. Raises `ParseFailed` (DTD_FORBIDDEN, DAMAGED)."""
    forbid_declarations(_DOCTYPE.sub("", markup))
    page = LexborHTMLParser(markup)
    title = page.css_first("title")
    draft.title = draft.title or (title.text() if title is not None else "")
    if page.body is not None:
        _drop_hidden(page.body, first_look(markup), hidden_by_sheets(page), draft)
        _write(page, page.body, draft)


def _write(page: LexborHTMLParser, body: LexborNode, draft: Draft) -> None:
    """Convert a page of which everything is to be seen."""
    for table in reversed(body.css("table")):
        if _lays_out(table):
            _replace(page, table, table.css("caption, td, th"))
        else:
            _fill_spans(table)
    for block in body.css(_PLAIN_BLOCKS):
        _replace(page, block, [block])
    for heading in reversed(body.css(_HEADINGS)):
        _close(page, heading)
    body.unwrap_tags(list(_MARKS))
    first = body.css_first(_HEADINGS)
    pieces = _CODE.split(body.html or "")
    markup = "".join(piece if at % 2 else _LINE_END.sub(" ", piece) for at, piece in enumerate(pieces))
    converted = convert(markup, _OPTIONS).content or ""
    draft.markdown(_ESCAPED.sub(r"\1", converted), first.text() if first else "")


def _drop_hidden(body: LexborNode, look: Look, hidden: set[int], draft: Draft) -> None:
    """Remove what a visitor does not see; each outermost piece is counted."""
    waiting = [(body, look, 0)]
    while waiting:
        node, look, depth = waiting.pop()
        if depth > _MAX_DEPTH:
            raise ParseFailed(ParseFailure.DAMAGED, "elements too deep in one another")
        child = node.child
        while child is not None:
            following = child.next
            inside = _look_of(child, look, hidden)
            if inside is None:
                text = child.text_content if child.tag == "-text" else child.text() if child.tag not in _SILENT else ""
                draft.warn(WarningCode.HIDDEN_TEXT_DROPPED, int(bool((text or "").strip())))
                child.decompose()
            elif child.child is not None:
                waiting.append((child, inside, depth + 1))
            child = following


def _look_of(node: LexborNode, look: Look, hidden: set[int]) -> Look | None:
    """What is inherited inside a node; None when nothing of it is to be seen."""
    tag = node.tag or ""
    if tag == "-text":
        return None if look.is_hidden and (node.text_content or "").strip() else look
    if tag.startswith(("-", "_")) or tag in _SILENT:
        return None
    attributes = node.attributes
    style = declarations(attributes.get("style")) if "style" in attributes else {}
    if "bgcolor" in attributes:
        style.setdefault("background-color", (attributes["bgcolor"] or "").lower())
    if tag == "font" and attributes.get("color"):
        style.setdefault("color", (attributes["color"] or "").lower())
    if "hidden" in attributes or node.mem_id in hidden or (style and hides(style)):
        return None
    return look_under(look, style) if style else look


def _lays_out(table: LexborNode) -> bool:
    """Whether a table is no table of facts, but holds parts of the page in their places."""
    if table.css_first("table table, h1, h2, h3, h4") is not None:
        return True
    rows = table.css("tr")
    return len(rows) < 2 or max(sum(1 for _ in _cells(row)) for row in rows) < 2


def _close(page: LexborHTMLParser, heading: LexborNode) -> None:
    """End a heading that was never closed before the first block in it."""
    children = list(heading.iter(include_text=True))
    begins = next((at for at, child in enumerate(children) if child.tag in _BLOCKS), None)
    if begins is None:
        return
    rest = page.create_node("div")
    for child in children[begins:]:
        rest.insert_child(child)
        child.decompose()
    heading.insert_after(rest)


def _replace(page: LexborHTMLParser, node: LexborNode, parts: list[LexborNode]) -> None:
    """Put what stands in each of the parts into a plain block of its own, in place of the node."""
    for part in parts:
        block = page.create_node("div")
        for child in part.iter(include_text=True):
            block.insert_child(child)
        node.insert_before(block)
    node.decompose()


def _fill_spans(table: LexborNode) -> None:
    """Repeat a cell that spans rows in each of them, and leave places free for columns that are spanned."""
    reaching: dict[int, tuple[int, LexborNode]] = {}
    for row in table.css("tr"):
        at = 0
        for cell in [*_cells(row), None]:
            while at in reaching and at < _MAX_COLUMNS:
                left, above = reaching.pop(at)
                (cell.insert_before if cell is not None else row.insert_child)(above)
                reaching |= {at: (left - 1, above)} if left > 1 else {}
                at += 1
            if cell is None:
                break
            if (down := _span(cell, "rowspan")) > 1:
                reaching[at] = (down - 1, cell)
            if "rowspan" in cell.attributes:
                del cell.attrs["rowspan"]
            at += _span(cell, "colspan")


def _cells(row: LexborNode) -> Iterator[LexborNode]:
    return (cell for cell in row.iter() if cell.tag in ("td", "th"))


def _span(cell: LexborNode, name: str) -> int:
    value = (cell.attributes.get(name) or "").strip()
    return min(max(int(value), 1), _MAX_SPAN) if value.isdecimal() and len(value) < 6 else 1
