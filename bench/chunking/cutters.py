"""Everything that cuts: ours in many sizes, the bare library, other libraries, an earlier version."""

import importlib
import importlib.util
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from semantic_text_splitter import MarkdownSplitter

from app.ingestion.chunk import SIZING, Sizing, TokenCounter, chunk

_SIZES = (64, 96, 128, 192, 256, 320, 448)

Cut = Callable[[str, str], Sequence[tuple[str, str]]]
"""(text, title) → (section, text) of each piece."""


def cutters(count: TokenCounter) -> Iterator[tuple[str, Cut]]:
    """Ours at every size, with other overlap, joining sections less or not at all; and the bare library."""
    usual = SIZING
    for most in _SIZES:
        together, overlap = min(usual.together, most * 4 // 5), usual.overlap * most // usual.most
        sizing = usual._replace(most=most, together=together, overlap=overlap)
        yield f"chunk {most}", partial(_ours, count, sizing)
    for percent in (0, 10, 20):
        yield f"chunk {usual.most}, {percent} % overlap", _overlapping(count, usual.most, percent)
    yield "chunk, sections grow to 120", partial(_ours, count, usual._replace(together=120))
    yield "chunk, sections kept apart", partial(_ours, count, usual._replace(small=0, tiny=0))
    for most in (128, usual.most, 448):
        bare = MarkdownSplitter.from_callback(partial(_tokens, count), most)
        yield f"library alone {most}", partial(_without_headings, bare.chunks)


def overlapping(count: TokenCounter, percent: int) -> list[Cut]:
    """The same overlap at sizes around ours: one cut elsewhere moves a result as far as the overlap does."""
    return [_overlapping(count, most, percent) for most in range(SIZING.most - 32, SIZING.most + 33, 16)]


def _overlapping(count: TokenCounter, most: int, percent: int) -> Cut:
    return partial(_ours, count, SIZING._replace(most=most, overlap=most * percent // 100))


def _without_headings(cut: Callable[[str], Sequence[str]], text: str, _title: str) -> list[tuple[str, str]]:
    return [("", piece) for piece in cut(text)]


def _tokens(count: TokenCounter, text: str) -> int:
    return count([text])[0]


def _ours(count: TokenCounter, sizing: Sizing, text: str, title: str) -> list[tuple[str, str]]:
    return [(one.section, one.text) for one in chunk(text, title, count_tokens=count, sizing=sizing)]


def peers(count: TokenCounter) -> Iterator[tuple[str, Cut]]:
    """Other splitters, as far as they are installed, by the same tokens and without headings."""
    most, one = SIZING.most, partial(_tokens, count)
    if importlib.util.find_spec("semchunk"):
        semchunk = importlib.import_module("semchunk").chunkerify(one, most)
        yield f"semchunk {most}", partial(_without_headings, semchunk)
    if importlib.util.find_spec("langchain_text_splitters"):
        recursive = importlib.import_module("langchain_text_splitters").RecursiveCharacterTextSplitter
        lang = recursive(chunk_size=most, chunk_overlap=0, length_function=one)
        yield f"langchain recursive {most}", partial(_without_headings, lang.split_text)


def earlier(file: Path) -> tuple[str, Cut]:
    """Another version's ``chunk(text, title)``."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    if not spec or not spec.loader:
        raise SystemExit(f"{file} is not a Python file.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return file.stem, lambda text, title: [(one.section, one.text) for one in module.chunk(text, title)]
