"""Pairs of statements: they are literally in their documents, and what is counted of answers is what was told."""

import json
from pathlib import Path

import pytest
from rich.console import Console

from app.evaluation.observed import Observation, Weighed
from bench import clauses

ROOT = Path(__file__).parents[3] / "bench"
FILES = sorted((*ROOT.glob("companies/*/clauses.jsonl"), *ROOT.glob("blind/clauses/*.jsonl")))
CURRENT, OLD = "Nghỉ 14 ngày.", "Nghỉ 12 ngày."


@pytest.mark.parametrize("path", FILES, ids=lambda path: clauses.company_of(path))
def test_every_quote_stands_in_its_document(path: Path) -> None:
    _, documents = clauses.documents_of(clauses.company_of(path))
    rows = clauses.rows_of(path)
    assert len({row.id for row in rows}) == len(rows) >= 8
    wrong = [
        row.id
        for row in rows
        if any(place.quote not in documents[place.document].text for place in (row.a, row.b))
        or len({wording.text for wording in row.questions}) != 3
        or (row.holds is None) != (row.kind in ("contradiction", "agreement", "different_case"))
    ]
    assert not wrong


@pytest.mark.parametrize("path", sorted(ROOT.glob("slots/*.jsonl")), ids=lambda path: path.stem)
def test_four_statements_to_a_slot_are_judged_two_by_two(path: Path, tmp_path: Path) -> None:
    lines = path.read_text("utf-8").splitlines()
    assert len({json.loads(line)["id"] for line in lines}) == len(lines) == 160
    few = tmp_path / "slots" / path.name
    few.parent.mkdir()
    few.write_text("\n".join(lines[:8]), "utf-8")
    kinds = [kind for kind, _ in clauses.judged_slots(few)]
    assert [kinds.count(one) for one in ("agreement", "contradiction", "different_case")] == [8, 16, 24]


def test_what_measures_does_not_train() -> None:
    measuring = {path.stem for path in ROOT.glob("blind/clauses/*.jsonl")}
    assert measuring and not measuring & {path.parent.name for path in ROOT.glob("companies/*/clauses.jsonl")}


@pytest.mark.parametrize(
    ("answer", "noted", "expected"),
    [
        (CURRENT, False, (True, True, False, False, None)),
        (OLD, False, (True, False, True, False, None)),
        (f"{CURRENT}\n{OLD}", False, (True, True, True, False, None)),
        (CURRENT, True, (True, True, False, True, True)),
    ],
)
def test_what_an_answer_told(answer: str, noted: bool, expected: tuple[bool | None, ...]) -> None:
    path = ROOT / "companies" / "bank" / "clauses.jsonl"
    tenant, documents = clauses.documents_of("bank")
    row = next(one for one in clauses.rows_of(path) if one.kind == "superseded" and one.holds == "b")
    row = row.model_copy(update={"value_a": ("12 ngày",), "value_b": ("14 ngày",)})
    question = next(clauses.questions_of(row, tenant, documents))
    old, new = (documents[place.document].url for place in (row.a, row.b))
    weighed = (Weighed(winner=new, loser=old, decided=True, type="superseded_version"),) if noted else ()
    told = clauses.told_of(row, question, Observation(answer=answer, outcome="answered", conflicts=weighed), documents)
    assert told == expected
    out = Console(record=True, width=160)
    clauses.show_told({row.id: [(row, told)]}, out)
    assert "winner right" in out.export_text()


def test_two_people_ask_every_wording() -> None:
    path = ROOT / "companies" / "bank" / "clauses.jsonl"
    tenant, documents = clauses.documents_of("bank")
    questions = list(clauses.questions_of(clauses.rows_of(path)[0], tenant, documents))
    assert len({question.question for question in questions}) == 3
    assert len({question.asker for question in questions}) == 2


def test_quotes_alone_are_judged(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["clauses", str(ROOT / "companies" / "bank" / "clauses.jsonl")])
    clauses.main()
    assert "precision" in capsys.readouterr().out
