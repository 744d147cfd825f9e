"""`python -m training.reader.support`: trees that tell whether a passage says what a sentence says
(`app.reasoning.local.support`).

Learnt from sentences written for it (``bench/support/seen.jsonl``), from sentences and rows of the training companies'
documents as they stand and as a program spoils them (another number, a word turned round, another row's label, another
passage), and from the statements of ``bench/slots``. How it does is printed over companies held out in turn. Needs
LightGBM (extra ``training``); a few minutes on two cores.
"""

import argparse
import asyncio
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from uuid import NAMESPACE_URL, uuid5

import lightgbm
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from app.domain.knowledge import Passage
from app.embedding.onnx import OnnxEmbedder
from app.ingestion.chunk import TokenCounter
from app.reasoning.local.features import candidates_of
from app.reasoning.local.pieces import Unit, split_cells, units_of
from app.reasoning.local.plain_reader import Trees
from app.reasoning.local.support import measured, nearest
from app.reasoning.local.terms import bag_of
from bench.clauses import COMPANIES, SLOTS, documents_of
from bench.corpora import read_lines
from bench.support import passages_of, placed
from training.reader.data import SEED, TRAINING, TokensOnDisk
from training.reader.trees import stored, trees_of

ROUNDS, PARTS, OF_EACH = 260, 4, 80
"""Trees; parts the companies are split into to be held out; sentences taken of each company's documents."""
WRITTEN = Path("bench/support/seen.jsonl")
_WEIGHTS = {"written": 6.0, "spoilt": 0.15, "slots": 0.7, "across": 0.5}
_SETTINGS = {
    "objective": "binary", "num_leaves": 10, "learning_rate": 0.05, "min_data_in_leaf": 25, "feature_fraction": 0.5,
    "bagging_fraction": 0.7, "bagging_freq": 1, "lambda_l2": 6, "verbose": -1, "seed": SEED, "num_threads": 2,
    "deterministic": True, "force_row_wise": True,
}  # fmt: skip
_NUMBER = re.compile(r"(?<![\w.,/:-])\d{1,3}(?![\w/:-]|[.,]\d)")
_TURNED = (
    ("không được", "được"), ("phải", "không phải"), ("tối đa", "tối thiểu"), ("trước", "sau"),
    ("ít nhất", "nhiều nhất"),
    ("bắt buộc", "không bắt buộc"), ("trở lên", "trở xuống"), ("đều", "không"), ("must not", "may"),
    ("must", "need not"),
    ("may not", "may"), ("may", "may not"), ("at least", "at most"), ("before", "after"), ("up to", "at least"),
    ("only", "also"), ("not ", ""), ("is ", "is not "), ("are ", "are not "), ("can ", "cannot "), ("without", "with"),
)  # fmt: skip


_CLAUSE = re.compile(r"(?<=[,;:(])\s+|\s+(?=\(|–|và |and |nếu |if |khi |when |trừ |unless |hoặc |or )")
_OPENINGS = {
    "vi": ("Theo {title}, {text}", "Bạn cần lưu ý: {text}", "Cụ thể, {text}", "{text}", "- {text}", "Hiện nay {text}"),
    "en": ("According to {title}, {text}", "Please note that {text}", "In short, {text}", "{text}", "- {text}",
           "As of today, {text}"),
}  # fmt: skip
_ADDRESSED = (
    ("Nhân viên", "Bạn"), ("Người lao động", "Bạn"), ("nhân viên", "bạn"), ("Employees", "You"), ("employees", "you"),
    ("Staff", "You"), ("staff", "you"), ("must", "have to"), ("may", "can"), ("phải", "cần"), ("không quá", "tối đa"),
    ("trong vòng", "trong"), ("days", "day(s)"), ("hằng", "mỗi"), ("at least", "no less than"), ("up to", "at most"),
    ("ít nhất", "tối thiểu"), ("within", "in no more than"), ("per ", "a "), ("require", "need"), ("quy định", "nêu"),
)  # fmt: skip


class Held(NamedTuple):
    """A sentence against a passage."""

    source: str
    """A key of the weights."""
    company: str
    kind: str
    statement: str
    passages: tuple[Passage, ...]
    is_said: bool


def written(path: Path, count: TokenCounter) -> Iterator[Held]:
    """The sentences that were written for this, each against the passage it cites."""
    for row, passage in placed(path, count):
        company = Path(row.document.removeprefix("bench/companies/")).parts[0]
        yield Held("written", company, row.kind, row.sentence, (passage,), row.is_right)


def spoilt(company: str, count: TokenCounter, chance: random.Random) -> Iterator[Held]:
    """Sentences and rows of a company's documents as they stand, and spoilt."""
    _, documents = documents_of(company, COMPANIES)
    passages = [one for draft in documents.values() for one in passages_of(draft, count)]
    places = [(passage, unit) for passage in passages for unit in units_of(passage.text) if len(unit.text) > 40]
    for passage, unit in chance.sample(places, min(OF_EACH, len(places))):
        for text in _retold(unit, passage, chance):
            yield Held("spoilt", company, "retold", text, (passage,), is_said=True)
        other = chance.choice(passages)
        yield Held("spoilt", company, "quote", unit.text, (passage,), is_said=True)
        if other.chunk_id != passage.chunk_id:
            yield Held("spoilt", company, "elsewhere", unit.text, (other,), is_said=False)
            yield Held("spoilt", company, "beside", unit.text, (other, passage), is_said=True)
        if numbers := list(_NUMBER.finditer(unit.text)):
            mark = chance.choice(numbers)
            others = [n for n in _NUMBER.findall(passage.text) if n != mark[0]] + [
                str(int(mark[0]) + chance.choice((1, 2, 5)))
            ]
            text = unit.text[: mark.start()] + chance.choice(others) + unit.text[mark.end() :]
            yield Held("spoilt", company, "number", text, (passage,), is_said=False)
        turned = [(a, b) for a, b in _TURNED if a in unit.text]
        if turned:
            a, b = chance.choice(turned)
            yield Held("spoilt", company, "polarity", unit.text.replace(a, b, 1), (passage,), is_said=False)
        rows = [one for one in units_of(passage.text) if one.block == unit.block and one.kind == "row" and one != unit]
        if unit.kind == "row" and rows and len(unit.cells) > 1:
            theirs = split_cells(chance.choice(rows).text)
            text = " | ".join((theirs[0], *unit.cells[1:]))
            if theirs[1:] != unit.cells[1:]:
                yield Held("spoilt", company, "subject", text, (passage,), is_said=False)


def _retold(unit: Unit, passage: Passage, chance: random.Random) -> Iterator[str]:
    """A piece as a writer would tell it: parts left out, an opening, the asker addressed, a row as a sentence."""
    language = "en" if passage.language == "en" else "vi"
    text = unit.text.strip("-*•| \n")
    if unit.kind == "row":
        header = unit.header or ("",) * len(unit.cells)
        named = [f"{name} {cell}".strip() for name, cell in zip(header[1:], unit.cells[1:], strict=False) if cell]
        text = f"{unit.cells[0]}: {', '.join(named)}"
        yield text
        if named:
            yield f"{unit.cells[0]}: {chance.choice(named)}."
    parts = [part for part in _CLAUSE.split(text) if part.strip()]
    if len(parts) > 2:
        left = chance.randrange(1, len(parts))
        yield " ".join(part for at, part in enumerate(parts) if at != left)
        yield f"{parts[0]} {parts[-1]}"
    if len(parts) > 1:
        yield parts[0].rstrip(",;:( ") + "."
    told = text
    for old, new in chance.sample(_ADDRESSED, len(_ADDRESSED)):
        told = told.replace(old, new)
    lowered = told[:1].lower() + told[1:]
    yield chance.choice(_OPENINGS[language]).format(title=passage.title, text=lowered)
    beside = [one for one in units_of(passage.text) if one.block == unit.block and one != unit and one.kind != "row"]
    if beside and unit.kind != "row":
        yield f"{text.rstrip('.;')}, {chance.choice(beside).text.strip('-*• ')}"


def slots(path: Path, model: Passage) -> Iterator[Held]:
    """The statements of a slot against each other; the file stands for a company."""
    for row in read_lines(path):
        passages = {
            name: model.model_copy(update={"text": row[name]["text"], "section": "", "title": row[name]["head"],
                                           "language": row["language"]})
            for name in ("s", "same", "differs", "other")
        }  # fmt: skip
        for name, is_said in (("s", True), ("same", True), ("differs", False), ("other", False)):
            yield Held("slots", path.stem, name, row["s"]["text"], (passages[name],), is_said)
            if name != "s":  # the sentence about the slot, without what else its writer tells
                told = max(units_of(row[name]["text"]), key=lambda unit: _shared(unit.text, row["s"]["text"]))
                yield Held("slots", path.stem, f"{name}, told", told.text, (passages["s"],), is_said)


def _shared(one: str, other: str) -> float:
    mine, theirs = (bag_of(text, folded=True).stems for text in (one, other))
    return len(mine & theirs) / (len(mine) + 4)


def translated(folder: Path, model: Passage) -> Iterator[Held]:
    """Sentences of XQuAD's articles with an even number against the same passage, and another one of its article, in
    the other language."""
    rows = [row for row in read_lines(folder / "xquad" / "corpus.jsonl") if row["article"] % 2 == 0]
    by_place = {(row["parallel"], row["lang"]): row for row in rows}
    passages = {
        key: model.model_copy(update={"chunk_id": uuid5(NAMESPACE_URL, row["id"]), "text": row["text"], "section": "",
                                      "title": row["title"].replace("_", " "), "language": row["lang"]})
        for key, row in by_place.items()
    }  # fmt: skip
    for (parallel, language), row in by_place.items():
        foreign = (parallel, "en" if language == "vi" else "vi")
        units = units_of(row["text"])
        if foreign not in by_place or len(units) != len(units_of(by_place[foreign]["text"])):
            continue
        beside = [key for key, one in by_place.items() if one["article"] == row["article"] and key[1] == foreign[1]]
        other = beside[(beside.index(foreign) + 1) % len(beside)]
        for at, unit in enumerate(units[:4]):
            yield Held("across", f"xquad {row['article']}", "across", unit.text, (passages[foreign],), is_said=True)
            if other != foreign and at < 2:
                yield Held(
                    "across", f"xquad {row['article']}", "elsewhere", unit.text, (passages[other],), is_said=False
                )


async def rows_of(held: Iterable[Held], read: TokensOnDisk) -> list[tuple[Held, tuple[float, ...]]]:
    """What is measured on each."""
    found = []
    for one in held:
        pieces = nearest(one.statement, candidates_of(one.passages))
        if pieces:
            mine, *theirs = await read.pieces([("", one.statement), *(piece.read for piece in pieces)])
            tokens = {piece.read: own for piece, own in zip(pieces, theirs, strict=True)}
            found.append((one, measured(one.statement, mine, pieces, tokens)))
    return found


def fit(rows: Sequence[tuple[Held, tuple[float, ...]]]) -> Trees:
    """Fit trees."""
    figures, labels = np.array([row for _, row in rows]), np.array([one.is_said for one, _ in rows], np.float64)
    weights = np.array([_WEIGHTS[one.source] for one, _ in rows])
    booster = lightgbm.train(_SETTINGS, lightgbm.Dataset(figures, labels, weight=weights), ROUNDS)
    return trees_of(booster.dump_model()["tree_info"])


def held_out(rows: Sequence[tuple[Held, tuple[float, ...]]]) -> list[tuple[Held, float]]:
    """Chances by trees that have not seen the company."""
    names, found = sorted({one.company for one, _ in rows}), list[tuple[Held, float]]()
    for part in range(PARTS):
        out = set(names[part::PARTS])
        trees = fit([row for row in rows if row[0].company not in out])
        left = [row for row in rows if row[0].company in out]
        chances = 1 / (1 + np.exp(-trees.score(np.array([row for _, row in left]))))
        found += [(one, float(chance)) for (one, _), chance in zip(left, chances, strict=True)]
    return found


def show(told: Sequence[tuple[Held, float]], out: Console) -> None:
    """Print how many of each kind are marked, by the limit."""
    table = Table(title="marked, companies held out in turn")
    limits = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
    for name in ("source", "kind", "said", "n", *map(str, limits)):
        table.add_column(name, justify="right")
    groups = sorted({(one.source, kind, one.is_said) for one, _ in told for kind in (one.kind, "all")})
    for source, kind, is_said in groups:
        own = [c for one, c in told if one.source == source and kind in (one.kind, "all") and one.is_said is is_said]
        shares = (f"{sum(chance < limit for chance in own) / max(1, len(own)):.3f}" for limit in limits)
        table.add_row(source, kind, str(is_said), str(len(own)), *shares)
    out.print(table)


async def collected(given: argparse.Namespace, out: Console) -> list[tuple[Held, tuple[float, ...]]]:
    """The rows of every source."""
    given.cache.mkdir(parents=True, exist_ok=True)
    embedder = await asyncio.to_thread(OnnxEmbedder.open, given.models)
    read, chance = TokensOnDisk(embedder, given.cache / "support-tokens.pkl"), random.Random(SEED)
    try:
        held = [*written(given.written, embedder.count_tokens)] if given.written.exists() else []
        for company in given.train:
            held += spoilt(company, embedder.count_tokens, chance)
        model = held[0].passages[0]
        held += [one for path in sorted(SLOTS.glob("*.jsonl")) for one in slots(path, model)]
        held += translated(given.eval, model) if (given.eval / "xquad").is_dir() else ()
        return await rows_of(track(held, "reading", console=out), read)
    finally:
        read.keep()
        await embedder.aclose()


def main() -> None:
    """Parse arguments, print what companies held out say, fit and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", nargs="*", default=[name for name in TRAINING if name != "studio"])
    parser.add_argument("--written", type=Path, default=WRITTEN)
    parser.add_argument("--eval", type=Path, default=Path("../shared/eval"), help="where XQuAD lies")
    parser.add_argument("--models", type=Path, default=Path(".conclave/models"))
    parser.add_argument("--cache", type=Path, default=Path(".conclave/bench"))
    parser.add_argument("--out", type=Path, default=Path("app/reasoning/local/support.npz"))
    given, out = parser.parse_args(), Console(width=150)
    rows = asyncio.run(collected(given, out))
    show(held_out(rows), out)
    np.savez_compressed(given.out, **stored(fit(rows)))


if __name__ == "__main__":
    main()
