"""The dataset format: what is read, what is refused and how it is told, the schema, and what comes along."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from app.domain.principal import Principal, tenant_id_of
from app.errors import AppError, ErrorCode
from app.evaluation.dataset import DEFAULT, SETS_FOLDER, Dataset, open_dataset, parsed, read_dataset
from app.evaluation.question import Question, Rights
from app.ingestion.seed import read_seed
from app.text.language import fold, normalise
from bench.dataset_schema import SCHEMA_PATH, dataset_schema
from bench.seed_questions import datasets
from tests.factories import SEED_USERS

SEED = Path(__file__).parents[3] / "seed_data"
PLAIN: dict[str, Any] = {
    "id": "leave-1",
    "question": "Nghỉ phép năm mấy ngày?",
    "asker": "acme/lan",
    "expected": {"outcome": "answered", "evidence": ["leave-2026"], "facts": ["12 ngày"]},
}
OWN: dict[str, Any] = {
    "id": "own-1",
    "question": "How long?",
    "asker": {"scopes": ["public"]},
    "documents": [{"title": "Leave", "text": "12 days.", "url": "https://x.example/leave"}],
    "expected": {"facts": [{"number": 12, "unit": "days"}]},
}


def read(*rows: Any) -> tuple[Question, ...]:
    lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
    return tuple(case.question for case in parsed(lines, "x.jsonl"))


def refused(*rows: Any) -> list[str]:
    with pytest.raises(AppError) as refusal:
        read(*rows)
    assert refusal.value.code is ErrorCode.PAYLOAD_INVALID
    return refusal.value.detail.split("\n")


class TestReading:
    def test_short_forms_stand_for_long_ones(self) -> None:
        [short] = read(PLAIN)
        expected = {
            "outcome": ["answered"],
            "evidence": {"all_of": ["leave-2026"]},
            "facts": [{"any_of": [{"text": "12 ngày"}]}],
        }
        [long] = read({**PLAIN, "expected": expected})
        assert short == long
        assert (short.told_in, short.asker_name, short.is_in_own_tenant) == ("vi", "acme/lan", False)

    def test_rights_alone_make_an_asker_without_roles(self) -> None:
        asker = {"tenant": "acme", "department": "hr", "departments": ["it"], "scopes": ["public", "private"]}
        [question] = read({**PLAIN, "asker": asker})
        assert isinstance(question.asker, Rights)
        principal = question.asker.principal("acme")
        assert principal.tenant_id == tenant_id_of("acme")
        assert principal.departments == {"hr", "it"} and principal.scopes == {"public", "private"}
        assert not principal.roles

    def test_blank_lines_and_a_byte_order_mark_do_not_matter(self, tmp_path: Path) -> None:
        path = tmp_path / "mine.jsonl"
        path.write_text(f"\ufeff\n{json.dumps(PLAIN)}\r\n\n", "utf-8")
        dataset = read_dataset(path)
        assert dataset.name == "mine" and [case.place for case in dataset.cases] == ["mine.jsonl: line 2"]

    def test_a_conflict_may_be_a_plain_yes_or_no(self) -> None:
        conflicts = [True, False, {"winner": "a", "type": "scope"}]
        rows = [{**PLAIN, "id": str(n), "expected": {"conflict": one}} for n, one in enumerate(conflicts)]
        told = [question.expected.conflict for question in read(*rows)]
        assert [one and (one.exists, one.winner) for one in told] == [(True, None), (False, None), (True, "a")]

    @pytest.mark.parametrize(
        ("row", "complaint"),
        [
            ("{", "x.jsonl: line 1: Invalid JSON: EOF while parsing an object at line 1 column 1"),
            ("[]", "x.jsonl: line 1: Input should be an object"),
            ({**PLAIN, "quetsion": "x"}, "x.jsonl: line 1: quetsion: Extra inputs are not permitted"),
            ({**PLAIN, "expected": {}}, "x.jsonl: line 1: expected: say what a right answer shows, or set to_review"),
            ({**PLAIN, "expected": {"outcome": "maybe"}}, "x.jsonl: line 1: expected.outcome.0: Input should be"),
            ({**PLAIN, "expected": {"facts": [{"number": 1}]}}, "number and unit belong together"),
            ({**PLAIN, "expected": {"evidence": []}}, "name at least one document in all_of or any_of"),
            ({**PLAIN, "expected": {"conflict": {"exists": False, "winner": "a"}}}, "neither type nor winner"),
            ({**PLAIN, "expected": {"must_not_contain": ["abc"]}}, "at least 4 characters"),
            (
                {**PLAIN, "expected": {"must_not_contain": ["PHÉP NĂM"]}},
                "x.jsonl: line 1: expected.must_not_contain: 'PHÉP NĂM' stands in the question itself",
            ),
            ({**PLAIN, "asker": "lan"}, "x.jsonl: line 1: asker"),
            ({**PLAIN, "documents": OWN["documents"]}, "asker: own documents lie in a tenant of their own"),
            ({**OWN, "documents": []}, "no line brings documents for corpus ''"),
            ({**OWN, "asker": {"scopes": []}}, "at least 1 item"),
            ({**OWN, "asker": {"scopes": ["public"], "roles": ["admin"]}}, "Extra inputs"),
        ],
    )
    def test_a_fault_is_told_with_its_line(self, row: Any, complaint: str) -> None:
        assert any(complaint in line for line in refused(row)), refused(row)

    def test_every_fault_of_a_file_is_told_and_nothing_is_read(self) -> None:
        told = refused(PLAIN, PLAIN, "{", {**PLAIN, "id": "b", "question": ""})
        assert [line.split(":")[1].strip() for line in told] == ["line 2", "line 3", "line 4"]
        assert "the id 'leave-1' stands in line 1 already" in told[0]
        assert len(refused(*["{"] * 50)) == 21

    def test_one_document_is_told_in_one_way(self) -> None:
        other = {**OWN, "id": "b", "documents": [{**OWN["documents"][0], "text": "14 days."}]}
        assert "was told differently in an earlier line" in refused(OWN, other)[0]
        assert len(read(OWN, {**OWN, "id": "c"}, {**other, "corpus": "mine"})) == 3

    def test_an_empty_file_is_none(self, tmp_path: Path) -> None:
        assert refused("", " ") == ["x.jsonl: holds no question"]
        with pytest.raises(AppError, match="cannot be read"):
            read_dataset(tmp_path / "missing.jsonl")
        bad = tmp_path / "bad.jsonl"
        bad.write_bytes(b"\xff\xfe")
        with pytest.raises(AppError, match="is not UTF-8"):
            read_dataset(bad)

    @given(st.text(max_size=60))
    def test_no_line_breaks_the_reader(self, line: str) -> None:
        with pytest.raises(AppError):
            parsed([line], "x.jsonl")

    def test_fingerprints_change_with_a_question(self) -> None:
        one, other = (Dataset("x", parsed([json.dumps({**PLAIN, "question": text})], "x")) for text in ("a", "b"))
        assert one.fingerprint != other.fingerprint and len(one.fingerprint) == 12


class TestSchema:
    def test_the_file_is_what_the_code_says(self) -> None:
        assert SCHEMA_PATH.read_text("utf-8") == dataset_schema(), "run python -m bench.dataset_schema"

    @pytest.mark.parametrize("row", [PLAIN, OWN, {**PLAIN, "expected": {"conflict": False, "facts": [["a", "b"]]}}])
    def test_accepts_short_forms(self, row: Any) -> None:
        Draft202012Validator(json.loads(dataset_schema())).validate(row)

    def test_accepts_what_comes_along(self) -> None:
        validator = Draft202012Validator(json.loads(dataset_schema()))
        for name in ("leaks", "versions"):
            for line in (SETS_FOLDER / f"{name}.jsonl").read_text("utf-8").splitlines():
                validator.validate(json.loads(line))

    def test_refuses_a_misspelt_key(self) -> None:
        validator = Draft202012Validator(json.loads(dataset_schema()))
        assert not validator.is_valid({**PLAIN, "expect": {}})


class TestWhatComesAlong:
    def test_is_what_stands_beside_the_documents(self) -> None:
        told = {name: (SETS_FOLDER / f"{name}.jsonl").read_text("utf-8") for name in ("seed", "smoke")}
        assert told == datasets(SEED), "run python -m bench.seed_questions"

    def test_the_seeds_questions_are_all_there(self) -> None:
        paths = sorted(SEED.glob("*/questions*.jsonl"))
        rows = [json.loads(line) for path in paths for line in path.read_text("utf-8").splitlines()]
        found = {case.question.id: case.question for case in open_dataset("seed").cases}
        assert len(found) == len(rows)
        for row in rows:
            question = found[row["id"]]
            assert (question.question, question.asker) == (row["question"], f"{row['tenant']}/{row['asker']}")
            assert [fact.any_of[0].text for fact in question.expected.facts] == row["expect_phrases"]
            assert question.expected.outcome[0] == row["outcome"]

    def test_the_smoke_set_has_every_kind_in_both_companies(self) -> None:
        every, some = ({(c.question.tags, str(c.question.asker)[:4]) for c in open_dataset(name).cases}
                       for name in ("seed", "smoke"))  # fmt: skip
        assert some == every
        assert len(open_dataset("smoke").cases) == len((SETS_FOLDER / "smoke.txt").read_text().split())

    @pytest.mark.slow
    def test_a_canary_stands_only_where_its_asker_may_not_read(self) -> None:
        users: dict[str, Principal] = {f"{user.tenant}/{user.name}": user.principal for user in SEED_USERS}
        documents = [
            (tenant_id_of(tenant.name), draft, _bare(draft.text))
            for tenant in read_seed(SEED) for draft in tenant.documents
        ]  # fmt: skip
        for case in open_dataset("leaks").cases:
            asker = case.question.asker
            reader = asker.principal(asker.tenant) if isinstance(asker, Rights) else users[asker]
            for canary in case.question.expected.must_not_contain:
                wanted = _bare(canary)
                holding = [(tenant, draft) for tenant, draft, text in documents if wanted in text]
                assert holding, (case.place, canary)
                for tenant, draft in holding:
                    may_read = tenant == reader.tenant_id and reader.may_read(draft.scope, draft.department)
                    assert not may_read, (case.place, canary, draft.external_id)

    def test_an_unknown_name_is_answered_with_the_known_ones(self) -> None:
        known = ", ".join(sorted((*DEFAULT, "seed")))
        with pytest.raises(AppError, match=f"name a file, or one of {known}"):
            open_dataset("smoek")


def _bare(text: str) -> str:
    return fold(normalise(text)).lower()
