"""The whole house with a model of this machine: served with it, asked by it, gone with it."""

import shutil
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pytest

from app.cli.doctor import probe
from app.cli.evaluation.local_app import offline
from app.domain.principal import Principal
from app.main import Services
from app.models import serving
from app.models.catalogue import read_catalogue
from app.models.serving import Limits
from app.models.store import ModelStore, Pulled
from app.settings import Settings
from tests.fakes.llama import missing, model_file
from tests.warm import planted

pytestmark = [pytest.mark.slow, pytest.mark.skipif(missing() is not None, reason=missing() or "")]
NAME = "smollm2-135m"


@pytest.fixture
async def settings(scratch: Path, small_seed: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setattr(serving, "_LIMITS", Limits(context_tokens=1024, threads=1))
    data_dir = await planted(scratch / "own-model", small_seed)
    shared = (data_dir / "models").resolve()
    (data_dir / "models").unlink()
    shutil.copytree(shared, data_dir / "models")
    path, store, entry = model_file(), ModelStore(data_dir), read_catalogue().models[NAME]
    assert path is not None
    store.partial(NAME).mkdir(parents=True)
    (store.partial(NAME) / "body").symlink_to(path)
    model = Pulled(entry=entry, sha256=entry.sha256, size=path.stat().st_size, pulled_at=datetime.now(UTC))
    store.publish(model, store.partial(NAME) / "body")
    store.serve("chat", NAME)
    return Settings(_env_file=None, data_dir=data_dir, seed_dir=small_seed, llm_call_seconds=100)


async def test_a_model_in_use_is_served_and_asked_and_ends_with_the_service(settings: Settings) -> None:
    services = await Services.open(settings)
    try:
        address = ModelStore(settings.data_dir).folder / "serving.json"
        assert services.ladder.models == (NAME,) and address.exists()
        assert (await services.rooms.readiness())["language_model_loaded"]
        assert await probe(services.ladder, Principal.without_rights(uuid4(), uuid4())) in (
            {NAME: "done"},
            {NAME: "length"},
        )
    finally:
        await services.aclose()
    assert not address.exists()
    without = await Services.open(settings, work=False)
    assert not without.ladder.rungs, "who asks nothing serves nothing"
    await without.aclose()
    without = await Services.open(offline(settings))
    assert not without.ladder.rungs and not address.exists()
    await without.aclose()
