"""A check of a model over the whole house: what answers well is told from what only has rules to answer for it."""

from pathlib import Path

import pytest

from app.settings import Settings
from extras.fitness.asking import examine, questions_of
from tests.fakes.house_mind import house_mind
from tests.fakes.model_server import Asked, Reply, scripted_model_server
from tests.warm import planted


@pytest.mark.slow
async def test_a_check_asks_a_database_of_its_own_and_tells_whose_answers_they_are(scratch: Path) -> None:
    data_dir = scratch / "checked"
    await planted(data_dir / "models" / "check", Path("seed_data"))
    beyond_it = questions_of(2)[-1].cases[-1].question.question

    def half_a_mind(asked: Asked) -> Reply:
        return Reply("no JSON, and nothing asked for") if beyond_it in str(asked.body) else house_mind(asked)

    async with scripted_model_server(half_a_mind) as server:
        settings = Settings(_env_file=None, data_dir=data_dir, llm_base_url=server.base_url, llm_model="scripted")
        found = await examine(settings, 2)
    assert (found.model, found.questions, found.left_to_rules) == ("scripted", 2, 0.5)
    assert found.prompt_tokens > 0 and found.completion_tokens > 0 and found.tokens_per_second > 0
    assert any(said.endswith("malformed") for said in found.failures)
    assert found.right <= 0.5 and found.below_floor and found.settings == {}
    assert not (data_dir / "postgres").exists(), "nothing of the operator's was opened"
