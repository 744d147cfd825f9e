"""``python -m bench.clauses [--ask] FILE …``: pairs of statements of one organisation's documents, and what is told of
them.

A row holds two literal quotes, what they are to each other, and one question in three wordings (`Row`; the file has the
organisation's name, or lies in its folder). Two readings:

- without ``--ask`` the quotes alone are judged, with titles: are they taken for two values of one thing? Files of
  `bench/slots` (four statements to a slot, of no document) are judged so, too.
- with ``--ask`` two people who may read both ask every wording through the whole flow. Of the answers given: how many
  tell the current value alone or with a note, how many a superseded one without, how many report a conflict of none,
  does the right side win, and do all wordings of a pair come to the same?

Figures only, never a row: what is measured with is not read by whoever changes the program.
"""

import argparse
import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import SecretStr
from rich.console import Console
from rich.table import Table

from app.claims.clashes import clashes
from app.claims.record import Text
from app.cli.connecting import opened
from app.cli.evaluation.local_app import LocalApp, offline
from app.domain.knowledge import DocumentDraft, Language
from app.domain.record import Record
from app.evaluation.dataset import Case, Dataset
from app.evaluation.fact import Alternatives, missing_facts, split_answer
from app.evaluation.judging import GIVEN, stale_told
from app.evaluation.observed import Observation
from app.evaluation.question import Expected, Question
from app.evaluation.report import Asked
from app.evaluation.running import Evaluation
from app.ingestion.files import front_matter
from app.ingestion.seed import SeedTenant, read_seed
from app.settings import Settings
from bench.corpora import read_lines

COMPANIES, SLOTS = (Path(__file__).parent / name for name in ("companies", "slots"))
Kind = Literal["superseded", "contradiction", "agreement", "different_case", "future", "ended"]
DIFFERING: frozenset[Kind] = frozenset({"superseded", "contradiction", "future", "ended"})
"""Kinds whose quotes give two values of one thing."""
_ASKERS = 2


class Place(Record):
    """A literal quote."""

    document: str
    """``DEPARTMENT/NAME``."""
    quote: str


class Wording(Record):
    """A question, once."""

    text: str
    language: Language


class Row(Record):
    """A pair."""

    id: str
    kind: Kind
    a: Place
    b: Place
    holds: Literal["a", "b"] | None = None
    """Which one holds today."""
    about: str
    value_a: tuple[str, ...]
    """Spellings of what `a` says, as an answer may tell it."""
    value_b: tuple[str, ...]
    questions: tuple[Wording, ...]
    case_a: bool | None = None
    """Of different cases: which one is asked for."""

    @property
    def differs(self) -> bool:
        """Whether both are values of one thing."""
        return self.kind in DIFFERING


class Told(NamedTuple):
    """What one answer to one wording told of a pair."""

    given: bool
    current: bool
    """The value that holds (of a contradiction and an agreement one of both)."""
    stale: bool
    """The other one, in a sentence and not in a note alone."""
    noted: bool
    """A disagreement was reported."""
    won: bool | None
    """Whether the right side won, where a decided one is reported and one holds."""


def rows_of(path: Path) -> list[Row]:
    """The pairs of a file."""
    return [Row.model_validate(row) for row in read_lines(path)]


def company_of(path: Path) -> str:
    """Whose documents a file is about."""
    return path.parent.name if path.stem == "clauses" else path.stem


def documents_of(company: str, companies: Path = COMPANIES) -> tuple[SeedTenant, dict[str, DocumentDraft]]:
    """The organisation, and its documents by ``DEPARTMENT/NAME``."""
    folder = companies / company
    tenant = next(one for one in read_seed(folder) if one.name == company)
    by_id = {one.external_id: one for one in tenant.documents}
    found = {}
    for path in sorted((folder / company).glob("*/*.md")):
        head = front_matter(path.read_text("utf-8"))
        assert head is not None
        found[f"{path.parent.name}/{path.stem}"] = by_id[head[0]["external_id"]]
    return tenant, found


def judged(row: Row, documents: dict[str, DocumentDraft]) -> bool:
    """Whether the quotes are taken for two values of one thing, by the first wording."""
    texts = [_text(place, documents[place.document]) for place in (row.a, row.b)]
    return bool(clashes(row.questions[0].text, *texts, is_one_page=False))


def judged_slots(path: Path) -> Iterator[tuple[Kind, bool]]:
    """What every two statements of a slot are to each other, and whether they are taken for two values of one thing."""
    kinds: dict[str, Kind] = {"same": "agreement", "differs": "contradiction", "other": "different_case"}
    for row in read_lines(path):
        texts = {name: Text(row[name]["text"], row[name]["text"], row[name]["head"], "") for name in ("s", *kinds)}
        for one, other in combinations(texts, 2):
            yield kinds[other], bool(clashes(row["question"], texts[one], texts[other], is_one_page=False))


def _text(place: Place, document: DocumentDraft) -> Text:
    language: Language | None = "vi" if document.lang == "vi" else "en" if document.lang == "en" else None
    return Text(place.quote, place.quote, document.title, "", language)


def questions_of(row: Row, tenant: SeedTenant, documents: dict[str, DocumentDraft]) -> Iterator[Question]:
    """Every wording by two people who may read both documents."""
    pair = [documents[place.document] for place in (row.a, row.b)]
    able = [
        user for user in tenant.users
        if "admin" not in user.roles and all(user.principal.may_read(one.scope, one.department) for one in pair)
    ]  # fmt: skip
    current, stale = _values(row)
    for number, wording in enumerate(row.questions, 1):
        for user in able[:: max(1, len(able) // _ASKERS)][:_ASKERS]:
            yield Question(
                id=f"{row.id}/{number}/{user.name}", question=wording.text, asker=f"{tenant.name}/{user.name}",
                language=wording.language, tags=(row.kind,),
                expected=Expected(outcome=("answered", "partial", "conflict"), facts=current, stale=stale),
            )  # fmt: skip


def _values(row: Row) -> tuple[tuple[Alternatives, ...], tuple[Alternatives, ...]]:
    """(what a right answer tells, what it must not tell as current)."""
    a, b = (Alternatives.model_validate(list(values)) for values in (row.value_a, row.value_b))
    match row.kind:
        case "superseded" | "future" | "ended":
            return ((a,), (b,)) if row.holds == "a" else ((b,), (a,))
        case "different_case":
            return ((a,), ()) if row.case_a else ((b,), ())
        case _:
            return (Alternatives.model_validate([*row.value_a, *row.value_b]),), ()


def told_of(row: Row, question: Question, seen: Observation, documents: dict[str, DocumentDraft]) -> Told:
    """Read one answer."""
    given = seen.outcome in GIVEN and not seen.error
    parts = split_answer(seen.answer)
    stale = bool(stale_told(parts, seen.outcome, question.expected))
    if row.kind == "contradiction":
        told = "\n".join(parts.sentences)
        both = [Alternatives.model_validate(list(values)) for values in (row.value_a, row.value_b)]
        stale = not any(missing_facts(told, [one]) for one in both) and not parts.notes
    urls = [documents[place.document].url for place in (row.a, row.b)]
    right = {"a": urls[0], "b": urls[1]}.get(row.holds or "")
    own = [one for one in seen.conflicts if {one.winner, one.loser} == set(urls)]
    won = all(one.winner == right for one in own if one.decided) if right and any(one.decided for one in own) else None
    return Told(
        given, not missing_facts(seen.answer, question.expected.facts), given and stale, bool(seen.conflicts), won
    )


def _share(values: Iterable[bool]) -> str:
    held = list(values)
    return f"{sum(held) / len(held):.3f} of {len(held)}" if held else "–"


def show_judged(found: Sequence[tuple[Kind, bool]], out: Console) -> None:
    """By kind the share that is taken for two values of one thing."""
    table = Table("kind", "pairs", "taken for two values of one thing")
    for kind in dict.fromkeys(kind for kind, _ in found):
        own = [said for told, said in found if told == kind]
        table.add_row(kind, str(len(own)), _share(own))
    said = [(kind in DIFFERING, taken) for kind, taken in found]
    hits, both = sum(a and b for a, b in said), sum(a for a, _ in said) + sum(b for _, b in said)
    out.print(table)
    precision, recall = _share(a for a, b in said if b), _share(b for a, b in said if a)
    out.print(f"precision {precision}, recall {recall}, F1 {2 * hits / max(1, both):.2f}")


def show_told(found: dict[str, list[tuple[Row, Told]]], out: Console) -> None:
    """The figures of the whole flow, by kind and over all."""
    every = [one for own in found.values() for one in own]
    table = Table("of the answers", "share", "wanted")
    given = [(row, told) for row, told in every if told.given]
    of_two = [told for row, told in given if row.kind in ("superseded", "future", "ended")]
    at_odds = [told for row, told in given if row.differs]
    one_truth = [told for row, told in given if not row.differs]
    pairs = [
        len({(told.noted, told.stale) for _, told in own if told.given}) == 1
        for own in found.values() if any(told.given for _, told in own)
    ]  # fmt: skip
    told_well = (told.noted or (told.current and not told.stale) for told in of_two)
    rows = (
        ("answered at all", _share(told.given for _, told in every), ""),
        ("current value alone, or a note (one holds)", _share(told_well), "≥ .95"),
        ("another value, or both, without a note", _share(t.stale and not t.noted for t in at_odds), "≤ .02"),
        ("current value told (one holds)", _share(told.current for told in of_two), ""),
        ("disagreement noted (there is one)", _share(told.noted for told in at_odds), ""),
        ("false conflict (agreement, other case)", _share(told.noted for told in one_truth), "≤ .03"),
        ("agreement told as contradiction", _share(t.noted for r, t in given if r.kind == "agreement"), "0"),
        ("winner right, where decided", _share(told.won for told in of_two if told.won is not None), "≥ .95"),
        ("same for all wordings and people, by pair", _share(pairs), "≥ .95"),
    )
    for line in rows:
        table.add_row(*line)
    out.print(table)


async def asked(path: Path, companies: Path, out: Console) -> dict[str, list[tuple[Row, Told]]]:
    """Ask all wordings of a file over its organisation, in an embedded database of its own."""
    company = company_of(path)
    tenant, documents = documents_of(company, companies)
    rows = {row.id: row for row in rows_of(path)}
    questions = [one for row in rows.values() for one in questions_of(row, tenant, documents)]
    base = offline(Settings())
    settings = base.model_copy(
        update={
            "seed_dir": companies / company, "agents_dir": COMPANIES / "agents" / company,
            "data_dir": base.data_dir / "companies" / company, "database_url": SecretStr(""),
            "database_owner_url": SecretStr(""),
        }
    )  # fmt: skip
    dataset = Dataset(f"clauses-{company}", tuple(Case(one, one.id) for one in questions))
    found: dict[str, list[tuple[Row, Told]]] = defaultdict(list)
    async with opened(settings, out, work=True) as services, Evaluation(LocalApp(services), [dataset]) as evaluation:
        await evaluation.prepare(lambda *_: None)
        answers: list[Asked] = await evaluation.run(1, lambda *_: None)
    for question, answer in zip(questions, answers, strict=True):
        row = rows[question.id.partition("/")[0]]
        found[row.id].append((row, told_of(row, question, answer.observation, documents)))
    return found


def main() -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--ask", action="store_true", help="ask all wordings through the whole flow")
    parser.add_argument("--companies", type=Path, default=COMPANIES, help="where the organisations' documents lie")
    given, out = parser.parse_args(), Console()
    if given.ask:
        found: dict[str, list[tuple[Row, Told]]] = {}
        for path in given.files:
            found |= asyncio.run(asked(path, given.companies, Console(stderr=True)))
        show_told(found, out)
        return
    pairs = list[tuple[Kind, bool]]()
    for path in given.files:
        if path.parent.name == SLOTS.name:
            pairs += judged_slots(path)
            continue
        _, documents = documents_of(company_of(path), given.companies)
        pairs += [(row.kind, judged(row, documents)) for row in rows_of(path)]
    show_judged(pairs, out)


if __name__ == "__main__":
    main()
