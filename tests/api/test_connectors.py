"""Connectors through the API and the command line: every example and every command of the guide, on real sources."""

import asyncio
import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
import yaml
from typer.testing import CliRunner

from app.cli import app as command_line
from app.errors import ErrorCode
from app.settings import Settings
from tests.postgres.served_places import S3, Git, Webdav, served

GUIDE = (Path(__file__).parents[2] / "docs" / "connectors.md").read_text("utf-8")
EXAMPLES = dict(re.findall(r"^<!-- file: (\S+) -->\n```yaml\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL))
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
COMMANDS = [line for block in BLOCKS for line in block.splitlines()]
HELD = "# Quy định\n\nQuy định số {} của phòng.\n"
Places = tuple[Webdav, S3, Git]


@pytest.fixture
def places(tmp_path: Path) -> Iterator[Places]:
    """The sources the guide speaks of."""
    with ExitStack() as stack:
        made = []
        for kind in ("webdav", "s3", "git"):
            (folder := tmp_path / kind).mkdir()
            made.append(stack.enter_context(served(kind, folder)))
            made[-1].write("policies/leave.md" if kind == "git" else "leave.md", HELD.format(kind))
        made[0].share("leave.md", "hr")
        made[1].share("leave.md", "everybody")
        yield tuple(made)


@pytest.fixture
def desk(places: Places, api_settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the files of the guide; the hosts in them are those of the sources here."""
    webdav, s3, git = places
    moved = {
        "https://cloud.example.com/remote.php/dav/files/conclave/Policies": webdav.source["url"],
        "https://s3.eu-central-1.amazonaws.com": s3.address, "company-documents": s3.bucket,
        "https://git.example.com/company/handbook.git": git.source["url"],
        "cloud.example.com": webdav.host, "s3.eu-central-1.amazonaws.com": s3.host,
        "git.example.com\n": f"{git.host}\n",
        "user: conclave": "user: reader", "  path: policies\n": "  path: policies\n  user: reader\n",
        "env:NEXTCLOUD_PASSWORD": webdav.grant.secrets["cloud"],
        "file:/run/secrets/bucket": "env:CONCLAVE_TEST_S3_SECRET",
    }  # fmt: skip
    for name, text in EXAMPLES.items():
        for old, new in moved.items():
            text = text.replace(old, new)
        if name == "repository.yaml":
            text = text.replace("access:", "secret: code\naccess:")
        if name == "connectors.yaml":
            assert api_settings.connectors_file is not None
            text = text.replace("secrets: ", f"secrets: \n    code: {git.grant.secrets['git']}\n    # ", 1)
            api_settings.connectors_file.write_text(text)
        else:
            (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    yield tmp_path


class TestGuide:
    async def test_every_command_does_what_it_says(
        self, address: str, api_settings: Settings, token_of: Callable[[str], str], desk: Path,
        client_of: Callable[[str], httpx.AsyncClient], monkeypatch: pytest.MonkeyPatch,
    ) -> None:  # fmt: skip
        monkeypatch.setattr("extras.connectors.command._LOOK_SECONDS", 0.05)
        monkeypatch.setattr("app.connectors.service._LOOK_SECONDS", 0.1)
        monkeypatch.setenv("CONCLAVE_DATA_DIR", str(api_settings.data_dir))
        monkeypatch.setenv("CONCLAVE_SERVER", address)
        monkeypatch.setenv("CONCLAVE_TOKEN", token_of("acme/admin"))
        monkeypatch.setenv("COLUMNS", "300")
        told = dict[str, str]()
        for command in (*COMMANDS, "conclave connector sync handbook --tenant acme"):
            done = await asyncio.to_thread(CliRunner().invoke, command_line, shlex.split(command)[1:])
            assert done.exit_code == 0, (command, done.output, done.exception)
            told[command] = done.output
        assert len(told) == 7 and EXAMPLES.keys() == {
            "connectors.yaml", "nextcloud.yaml", "bucket.yaml", "repository.yaml"
        }  # fmt: skip
        assert "handbook" in told["conclave connector list --tenant acme"]
        admin = client_of("acme/admin")
        listed = (await admin.get("/connectors")).json()["connectors"]
        assert {one["definition"]["name"]: (one["documents"], one["last_error"]) for one in listed} == {
            "archive": (1, ""), "handbook": (1, "")
        }  # fmt: skip
        shown = (await admin.get("/documents", params={"limit": 100})).json()["documents"]
        rights = {one["external_id"]: (one["department"], one["scope"], one["status"]) for one in shown}
        assert rights["connector:handbook/leave.md"] == ("hr", "private", "ready")
        assert rights["connector:archive/leave.md"] == ("general", "public", "ready")
        assert "connector:engineering/leave.md" not in rights
        assert "secret of the source" not in str(listed)

        (one, other) = (f"/connectors/{one['connector_id']}" for one in listed)
        assert (
            await admin.post("/connectors", json=yaml.safe_load((desk / "bucket.yaml").read_text()))
        ).status_code == 409
        for stranger, code in (("globex/admin", 404), ("acme/lan", 403), ("", 401)):
            theirs = client_of(stranger)
            answers = [
                await theirs.get(one), await theirs.post(f"{one}/sync"), await theirs.delete(f"{one}?documents=delete")
            ]  # fmt: skip
            assert [answer.status_code for answer in answers] == [code] * 3
        assert (await client_of("globex/admin").get("/connectors")).json() == {"connectors": []}
        assert (await client_of("acme/lan").get("/connectors")).json()["code"] == ErrorCode.PERMISSION_DENIED
        assert (await admin.delete(one)).status_code == 422
        for path in (one, other):
            assert (await admin.delete(path, params={"documents": "delete"})).status_code == 204
        acts = (await admin.get("/audit", params={"action": "connector_removed"})).json()["entries"]
        assert {act["target"] for act in acts} >= {one["connector_id"] for one in listed}

    async def test_a_command_that_is_wrong_says_so(
        self, address: str, token_of: Callable[[str], str], desk: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("CONCLAVE_SERVER", address)
        monkeypatch.setenv("CONCLAVE_TOKEN", token_of("acme/admin"))
        (desk / "text.yaml").write_text("no connector")
        (desk / "broken.yaml").write_text("{")
        for arguments, said in (
            (["add", "text.yaml"], "does not describe a connector"), (["add", "broken.yaml"], "is not YAML"),
            (["sync", "nothing"], "There is no connector"),
        ):  # fmt: skip
            done = await asyncio.to_thread(CliRunner().invoke, command_line, ["connector", *arguments])
            assert done.exit_code != 0 and said in str(done.exception), (done.output, done.exception)
