"""The invented organisations: seed folders that can be brought in, and questions whose quotes are theirs."""

import json
from pathlib import Path
from typing import Any

import pytest

from app.agents.registry import AgentRegistry
from app.ingestion.seed import read_seed

COMPANIES = Path(__file__).parents[3] / "bench" / "companies"
NAMES = sorted(path.parent.name for path in COMPANIES.glob("*/demo.toml"))
TRAINING = sorted(path.parent.name for path in COMPANIES.glob("*/questions.jsonl"))
MEASURING = {"hospital", "logistics", "office"}


@pytest.mark.parametrize("name", NAMES)
def test_can_be_brought_in(name: str) -> None:
    [tenant] = read_seed(COMPANIES / name)
    departments = {draft.department for draft in tenant.documents}
    assert tenant.name == name and len(tenant.documents) >= 24
    assert departments <= {*AgentRegistry.load(COMPANIES / "agents" / name).names}
    assert {user.department for user in tenant.users} <= departments


def test_what_measures_does_not_train() -> None:
    assert set(NAMES) > MEASURING and not MEASURING & set(TRAINING)


@pytest.mark.parametrize("name", TRAINING)
def test_every_question_has_three_wordings_and_quotes_of_its_documents(name: str) -> None:
    [tenant] = read_seed(COMPANIES / name)
    texts = {draft.external_id: draft.text for draft in tenant.documents}
    rows: list[dict[str, Any]] = [
        json.loads(line) for line in (COMPANIES / name / "questions.jsonl").read_text("utf-8").splitlines()
    ]
    assert len({row["id"] for row in rows}) == len(rows) >= 200
    for row in rows:
        assert len(set(row["wordings"])) == 3 and bool(row["answers"]) is row["answerable"], row["id"]
        for piece in (*row["answers"], *row["near_misses"]):
            assert piece["quote"] in texts[piece["document"]], row["id"]
