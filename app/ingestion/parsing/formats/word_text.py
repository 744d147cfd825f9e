"""The visible text of one Word paragraph, run by run."""

from lxml import etree

from app.ingestion.parsing.formats.word_styles import Style, Styles, fill_of
from app.ingestion.parsing.office import attribute, child, local

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
