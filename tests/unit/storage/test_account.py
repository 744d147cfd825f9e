"""The system user of the embedded database, which several processes of a fresh machine make at once."""

import os
import pwd
import subprocess

import pytest

from app.errors import AppError
from app.storage import embedded


def _missing(_: str) -> pwd.struct_passwd:
    raise KeyError


class TestAccount:
    def test_another_process_made_it_meanwhile(self, monkeypatch: pytest.MonkeyPatch) -> None:
        known, entry = [_missing, _missing], pwd.getpwuid(os.getuid())
        refused = subprocess.CompletedProcess((), 9, "", "useradd: user already exists")
        monkeypatch.setattr(os, "geteuid", lambda: 0)
        monkeypatch.setattr(pwd, "getpwnam", lambda name: known.pop()(name) if known else entry)
        monkeypatch.setattr(subprocess, "run", lambda *_, **__: refused)
        monkeypatch.setattr(embedded, "_RETRY", 0)
        assert embedded._account().uid == entry.pw_uid

    def test_a_user_that_cannot_be_made_is_told(self, monkeypatch: pytest.MonkeyPatch) -> None:
        refused = subprocess.CompletedProcess((), 1, "", "useradd: no room")
        monkeypatch.setattr(os, "geteuid", lambda: 0)
        monkeypatch.setattr(pwd, "getpwnam", _missing)
        monkeypatch.setattr(subprocess, "run", lambda *_, **__: refused)
        monkeypatch.setattr(embedded, "_RETRY", 0)
        with pytest.raises(AppError, match="no room"):
            embedded._account()
