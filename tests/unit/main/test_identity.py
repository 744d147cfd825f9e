"""The signing secret of an installation."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.main.identity import shared_secret
from app.settings import Settings


@pytest.fixture
def generous() -> Iterator[None]:
    """A process whose new files anybody may read and write, unless it says otherwise."""
    before = os.umask(0)
    yield
    os.umask(before)


class TestSharedSecret:
    @pytest.mark.usefixtures("generous")
    async def test_that_was_made_here_is_readable_by_its_owner_alone(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        opened: list[int] = []
        really = os.open

        def watched(path: str, flags: int, mode: int = 0o777) -> int:
            descriptor = really(path, flags, mode)
            opened.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
            return descriptor

        monkeypatch.setattr(os, "open", watched)
        settings = Settings(_env_file=None, data_dir=tmp_path)
        secret = shared_secret(settings)
        assert opened == [0o600]  # also before there is anything in it
        assert stat.S_IMODE((tmp_path / "jwt-secret").stat().st_mode) == 0o600
        assert await shared_secret(settings).key(None) == await secret.key(None)
        assert [one.name for one in tmp_path.iterdir()] == ["jwt-secret"]
