"""The parts of an Office file and how they refer to one another; XML is parsed without entities and without network."""

import io
import posixpath
import zipfile
from collections.abc import Iterator
from typing import NamedTuple

from lxml import etree

_JUNK_TITLES = ("powerpoint presentation", "microsoft word", "untitled", "document", "slide 1", "word document")


class Related(NamedTuple):
    """One relationship of a part."""

    id: str
    kind: str
    """Last word of its type: ``styles``, ``footnotes``, ``worksheet``."""
    target: str
    """Path inside the archive; empty for what lies outside, which is never fetched."""


class Parts:
    """Reads parts of a rebuilt archive by path. Raises `KeyError`, `etree.XMLSyntaxError` for what is broken."""

    def __init__(self, archive: io.BytesIO):
        self._archive = zipfile.ZipFile(archive)
        self._names = set(self._archive.namelist())

    def open(self, path: str) -> io.BytesIO:
        """The bytes of a part."""
        return io.BytesIO(self._archive.read(path))

    def root(self, path: str) -> etree._Element:
        """A part as XML."""
        return etree.fromstring(self._archive.read(path), safe_parser())

    def main(self) -> str:
        """Path of the part everything hangs on: the document, presentation or workbook."""
        return next(one.target for one in self.related("") if one.kind == "officeDocument" and one.target)

    def related(self, path: str) -> list[Related]:
        """What a part refers to; ``""`` is the archive itself."""
        folder, name = posixpath.split(path)
        listed = posixpath.join(folder, "_rels", f"{name}.rels")
        return [_related(one, folder) for one in self.root(listed)] if listed in self._names else []

    def only(self, path: str, kind: str) -> etree._Element | None:
        """The part of one kind that `path` refers to; None when it refers to none."""
        targets = (one.target for one in self.related(path) if one.kind == kind)
        found = next((target for target in targets if target in self._names), "")
        return self.root(found) if found else None

    def title(self) -> str:
        """The title among the properties of the file, unless it is one that programs fill in by themselves."""
        core = self.only("", "core-properties")
        title = next((one.text or "" for one in elements(core, "title")), "") if core is not None else ""
        return "" if title.strip().lower().startswith(_JUNK_TITLES) else title


def safe_parser() -> etree.XMLParser:
    """A parser that resolves nothing and fetches nothing."""
    return etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_comments=True, remove_pis=True
    )


def local(element: etree._Element) -> str:
    """The tag without its namespace, so that strict and transitional documents read alike; empty for comments."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def elements(root: etree._Element, name: str) -> Iterator[etree._Element]:
    """Every element below `root` with this local name."""
    return root.iter(f"{{*}}{name}")


def child(element: etree._Element | None, *names: str) -> etree._Element | None:
    """The first child of the first name, its first child of the second, and so on."""
    for name in names:
        element = None if element is None else element.find(f"{{*}}{name}")
    return element


def attribute(element: etree._Element | None, name: str) -> str:
    """An attribute by its local name; empty when there is none."""
    if element is None:
        return ""
    return next((str(value) for key, value in element.items() if str(key).rpartition("}")[2] == name), "")


def _related(element: etree._Element, folder: str) -> Related:
    target = element.get("Target", "")
    inside = element.get("TargetMode") != "External"
    path = posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/") if inside else ""
    return Related(element.get("Id", ""), element.get("Type", "").rpartition("/")[2], path)
