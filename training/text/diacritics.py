"""`python -m training.text.diacritics`: counts the syllables `app.text.diacritics` restores accents by.

Reads the Vietnamese documents and accented questions of the training companies and of seed_data, the accented
exemplars of the service, and a folder of public text (`--public`, one folder a source; docs/diacritics.md names them).
`studio` and every fiftieth line of the public text only check. The same text gives the same file. Needs numpy only.
"""

import argparse
import hashlib
import io
import json
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from rich.console import Console

from app.text import diacritics
from app.text.diacritics import EDGE, NUMBER, PATH, SPECIAL, STEP, UNKNOWN, Ids, Model, packed, places, sentences
from app.text.language import fold, is_syllable, normalise

COMPANIES, HELD_OUT = ("bank", "factory", "school", "shops"), "studio"
_WEIGHTS = {"own documents": 5.0, "own questions": 10.0, "law": 0.05, "wiki": 0.15, "alt": 1.0, "vtb": 2.0}
"""What a line of a source weighs; chosen by how the syllables of `studio` come out."""
_EVERY = 50
"""One line in so many of the public text checks."""
_DISCOUNT = 0.75
_SEEN = 4
"""Syllables seen less often are unknown."""
_WORD = re.compile(r"[^\W_]+")
_MARKUP = re.compile(r"^(?:---.*|#+|[-*>|]+|==+.*|\*\*(?:Chỉ mục|Mã phân cấp|ID).*)|[`*]|\]\([^)]*\)|https?://\S+")
CONSOLE = Console(soft_wrap=True, highlight=False)
Counts = npt.NDArray[np.float64]
Bytes = npt.NDArray[np.uint8]


class Source(NamedTuple):
    """Lines that are counted, and what each weighs."""

    name: str
    weight: float
    lines: list[str]


class Grams(NamedTuple):
    """n-grams in ascending order of their keys."""

    keys: Ids
    counts: Counts


@cache
def is_vietnamese(word: str) -> bool:
    """Whether a word is built as a Vietnamese syllable."""
    return is_syllable(fold(word.lower()))


def _source(name: str, lines: Iterable[str]) -> Source:
    return Source(name, _WEIGHTS.get(name, 1.0), list(lines))


def is_accented(line: str) -> bool:
    """Whether a line is Vietnamese with its accents."""
    found = re.findall(r"[^\W\d_]+", line)
    syllables = [word for word in found if is_vietnamese(word)]
    marked = sum(not word.isascii() for word in syllables)
    return len(found) > 1 and len(syllables) * 10 > len(found) * 7 and marked * 2 > len(syllables)


def lines_of(paths: Iterable[Path]) -> Iterator[str]:
    """Each accented line of the files once."""
    seen = set()
    for path in paths:
        for raw in path.read_text("utf-8", errors="replace").splitlines():
            line = normalise(_MARKUP.sub(" ", raw))
            if line not in seen and is_accented(line):
                seen.add(line)
                yield line


def _company(folder: Path, name: str) -> list[Path]:
    return sorted((folder / name).rglob("*.md"))


def questions_of(path: Path) -> Iterator[str]:
    """The accented wordings of a file of questions."""
    for row in map(json.loads, path.read_text("utf-8").splitlines()):
        for text in (*row.get("wordings", ()), row.get("question") or "", row.get("text") or ""):
            if is_accented(text):
                yield normalise(text)


def own_sources(companies: Sequence[str]) -> list[Source]:
    """What the project itself has written."""
    bench, seed = Path("bench/companies"), Path("seed_data")
    documents = [path for name in companies for path in _company(bench, name)]
    questions = [q for name in companies for q in questions_of(bench / name / "questions.jsonl")]
    questions += [q for path in sorted(seed.rglob("questions*.jsonl")) for q in questions_of(path)]
    questions += list(questions_of(Path("training/understanding/utterances.jsonl")))
    return [
        _source("own documents", lines_of([*documents, *sorted(seed.rglob("*.md"))])),
        _source("own questions", questions),
    ]


def public_sources(folder: Path, limit: int) -> tuple[list[Source], list[str]]:
    """The lines of each folder, at most `limit` bytes spread over it, and those that only check."""
    found, checks = [], []
    for source in sorted(path for path in folder.iterdir() if path.is_dir()):
        lines = list(lines_of(path for path in sorted(source.rglob("*")) if path.is_file()))
        size = sum(len(line.encode()) for line in lines)
        share = min(1.0, limit / max(size, 1))
        lines = [line for line in lines if zlib.crc32(b"take" + line.encode()) < share * 2**32]
        held = [line for line in lines if zlib.crc32(line.encode()) % _EVERY == 0]
        checks += held[:3000]
        found.append(_source(source.name, sorted(set(lines) - set(held))))
    return found, checks


def tokens_of(line: str) -> Iterator[list[str]]:
    """The syllables of each sentence of a line in lower case; what is none as itself."""
    for sentence in sentences(line):
        yield [match[0].lower() for match in sentence]


def counted(sources: Sequence[Source]) -> tuple[list[str], list[Grams]]:
    """The syllables in use, and the weighed n-grams of one to three of them."""
    seen: Counter[str] = Counter()
    read = [(source.weight, [t for line in source.lines for t in tokens_of(line)]) for source in sources]
    for weight, found in read:
        for sentence in found:
            for word in sentence:
                seen[word] += max(1, round(weight))
    known = sorted(word for word, count in seen.items() if count >= _SEEN and is_vietnamese(word))
    folds: Counter[str] = Counter()
    for word in known:
        folds[fold(word)] += seen[word]
    # One spelling in a thousand is a mistake.
    known = [word for word in known if seen[word] * 1000 > folds[fold(word)]]
    vocabulary = [*SPECIAL, *known]
    ids = {word: at for at, word in enumerate(vocabulary)}
    size, grams = len(vocabulary), []
    series: list[int] = []
    weights: list[float] = []
    for weight, found in read:
        for sentence in found:
            own = [ids[EDGE], ids[EDGE]]
            own += [ids.get(word, ids[NUMBER if word.isdigit() else UNKNOWN]) for word in sentence]
            series += own
            weights += [weight] * len(own)
    flat, heavy = np.array(series), np.array(weights, np.float64)
    edge = ids[EDGE]
    real = flat[2:] != edge
    for keys in (flat[2:], flat[1:-1] * size + flat[2:], (flat[:-2] * size + flat[1:-1]) * size + flat[2:]):
        found_keys, at = np.unique(keys[real], return_inverse=True)
        grams.append(Grams(found_keys, np.bincount(at, heavy[2:][real]).astype(np.float64)))
    return vocabulary, grams


def fitted(vocabulary: Sequence[str], grams: Sequence[Grams], least: Sequence[float]) -> dict[str, Bytes]:
    """An interpolated backoff model by absolute discounting.

    A pair or triple stays that tells at least `least` (its order's) more than shorter ones do: its count times how far
    it moves the logarithm.
    """
    size = len(vocabulary)
    single = np.full(size, 0.1)
    single[grams[0].keys] += grams[0].counts
    keys, chances = [np.arange(size)], [single / single.sum()]
    backoffs: list[Counts] = []
    for order in (1, 2):
        found, counts = grams[order]
        place, is_known = places(keys[-1], found // size)
        found, counts, place = found[is_known], counts[is_known], place[is_known]
        total = np.bincount(place, counts, len(keys[-1]))[place]
        told = np.maximum(counts - _DISCOUNT, 0) / total
        lower = _shorter(keys, chances, backoffs, found, size)
        rest = _left(place, told, len(keys[-1]))
        gain = counts * np.abs(np.log((told + rest[place] * lower) / (rest[place] * lower)))
        kept = (gain >= least[order - 1]) & (counts > 1)
        found, told, place, lower = found[kept], told[kept], place[kept], lower[kept]
        rest = _left(place, told, len(keys[-1]))
        keys.append(found)
        chances.append(told + rest[place] * lower)
        backoffs.append(rest)
    stored = {"syllables": np.frombuffer(" ".join(vocabulary).encode(), np.uint8)}
    stored |= {f"keys{order}": packed(keys[order - 1]) for order in (2, 3)}
    stored |= {f"chance{order}": _bytes(chances[order - 1]) for order in (1, 2, 3)}
    return stored | {f"backoff{order}": _bytes(backoffs[order - 1]) for order in (1, 2)}


def _left(place: Ids, told: Counts, contexts: int) -> Counts:
    """What of each context's chance is left for shorter n-grams."""
    return np.clip(1 - np.bincount(place, told, contexts), 1e-4, 1)


def _shorter(
    keys: Sequence[Ids], chances: Sequence[Counts], backoffs: Sequence[Counts], found: Ids, size: int
) -> Counts:
    """The chance of each n-gram's last syllable without the first."""
    last = found % size
    if len(keys) == 1:
        return chances[0][last]
    at, is_known = places(keys[1], found % size**2)
    return np.where(is_known, chances[1][at], backoffs[0][found // size % size] * chances[0][last])


def _bytes(chances: Counts) -> Bytes:
    return np.clip(np.rint(-np.log(np.maximum(chances, 1e-12)) / STEP), 0, 255).astype(np.uint8)


def as_file(stored: dict[str, Bytes]) -> bytes:
    """The model as the package holds it: the same arrays give the same bytes."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, values in sorted(stored.items()):
            array = io.BytesIO()
            np.lib.format.write_array(array, values, allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), array.getvalue(), zipfile.ZIP_DEFLATED, 9)
    return content.getvalue()


class Score(NamedTuple):
    """How well texts are restored."""

    syllables: float
    """Share of the ambiguous and other syllables that are right."""
    sentences: float
    """Share of the texts whose every syllable is right."""


def measured(texts: Sequence[str], restore: Callable[[str], str]) -> Score:
    """Restores the folded texts; what is told is over all Vietnamese syllables of them."""
    right = total = whole = 0
    for text in texts:
        wanted = [word for word in _WORD.findall(text) if is_vietnamese(word)]
        got = dict(enumerate(_WORD.findall(restore(fold(text)))))
        pairs = [(word, got[at]) for at, word in enumerate(_WORD.findall(text)) if is_vietnamese(word)]
        right += sum(one == other for one, other in pairs)
        total += len(wanted)
        whole += all(one == other for one, other in pairs)
    return Score(right / max(total, 1), whole / max(len(texts), 1))


def table(model: Model, checks: dict[str, list[str]]) -> None:
    """Print how the model does, beside the most frequent spelling of each syllable alone."""
    alone = Model.__new__(Model)
    alone.__dict__ |= model.__dict__ | {"_pairs": np.array([-1]), "_triples": np.array([-1])}
    pairs = Model.__new__(Model)
    pairs.__dict__ |= model.__dict__ | {"_triples": np.array([-1])}
    for name, texts in checks.items():
        for kind, one in (("alone", alone), ("pairs", pairs), ("triples", model)):
            score = measured(texts, lambda text, one=one: "".join(diacritics.rewritten(one, text)))  # type: ignore[misc]
            CONSOLE.print(
                f"{name:24} {kind:8} {len(texts):6} texts  syllables {score.syllables:.4f}  whole {score.sentences:.4f}"
            )


def main() -> None:
    """Parse arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--public", type=Path, required=True, help="a folder with one folder of text files a source")
    parser.add_argument("--limit", type=int, default=30_000_000, help="bytes taken of each source")
    parser.add_argument("--without", nargs="*", default=(), help="companies to leave out, to measure on them")
    parser.add_argument("--least", type=float, nargs=2, default=(0.5, 1), help="what a pair and a triple must tell")
    parser.add_argument("--out", type=Path, default=PATH)
    given = parser.parse_args()
    sources, checks = read_all(given)
    for source in sources:
        CONSOLE.print(
            source.name,
            len(source.lines),
            "lines",
            sum(len(line.encode()) for line in source.lines),
            "bytes",
        )
    vocabulary, grams = counted(sources)
    CONSOLE.print(len(vocabulary), "syllables", *(len(one.keys) for one in grams), "n-grams seen")
    stored = fitted(vocabulary, grams, given.least)
    content = as_file(stored)
    given.out.write_bytes(content)
    CONSOLE.print(
        "kept",
        *(len(stored[f"chance{order}"]) for order in (1, 2, 3)),
        len(content),
        "bytes",
        hashlib.sha256(content).hexdigest(),
    )
    table(Model(stored), checks)


def read_all(given: argparse.Namespace) -> tuple[list[Source], dict[str, list[str]]]:
    """What is counted and what checks."""
    public, held = public_sources(given.public, given.limit)
    companies = [name for name in COMPANIES if name not in given.without]
    checks = {"public": held}
    for name in (HELD_OUT, *given.without):
        checks[f"{name} documents"] = list(lines_of(_company(Path("bench/companies"), name)))
        checks[f"{name} questions"] = list(questions_of(Path("bench/companies") / name / "questions.jsonl"))
    return [*own_sources(companies), *public], checks


if __name__ == "__main__":
    main()
