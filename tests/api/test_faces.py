"""Faces of installed packages beside our own, and faces whose library is missing."""

import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from app.faces.face import load_faces
from app.main import Services, create_app
from app.plugins import FACES, PluginError
from tests.plugin_samples import install

SOURCE = """
from fastapi import APIRouter
from app.api.deps import Caller, Services
from app.errors import AppError, ErrorCode
from app.faces.face import Face

router = APIRouter()

@router.get("/sample/whoami")
async def whoami(caller: Caller, services: Services) -> dict[str, str]:
    return {"name": caller.name, "department": caller.department}

@router.get("/sample/refused")
async def refused() -> None:
    raise AppError(ErrorCode.NOT_FOUND, "Nothing here.", status=404)

@router.get("/about-sample")
async def about() -> dict[str, str]:
    return {"about": "a sample"}

def write_refusal(detail: str, code: str, status: int) -> dict[str, str]:
    return {"wrong": f"{status} {code}: {detail}"}

FACE = Face(router, roots=("/sample",), open_paths=frozenset({"/about-sample"}), write_refusal=write_refusal)
NO_ROOT = Face(router, roots=("/sample",))
TAKEN = Face(APIRouter(), roots=("/v1/more",))
LARGE = Face(APIRouter(), roots=("/sample",), uploads={"/api/v1/tasks": "text/plain"})
NATIVE = Face(APIRouter(), roots=("/api/v1/tasks",))
"""


@pytest.fixture
def plug_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    def installed(name: str) -> None:
        line = f"sample = conclave_sample_face:{name}"
        install(tmp_path, monkeypatch, module="conclave_sample_face", source=SOURCE, entry_points={FACES: line})

    return installed


class TestAFaceOfAnInstalledPackage:
    async def test_is_mounted_behind_the_same_middleware_as_ours(
        self, house: Services, lan: httpx.AsyncClient, plug_in: Callable[[str], None]
    ) -> None:
        plug_in("FACE")
        app = create_app(services=house)
        app.state.services = house.rooms
        transport, token = httpx.ASGITransport(app), lan.headers["authorization"]
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
            told = await http.get("/sample/whoami", headers={"Authorization": token})
            assert told.json()["department"] == "hr" and told.headers["x-content-type-options"] == "nosniff"
            stranger = await http.get("/sample/whoami")
            assert (stranger.status_code, stranger.json()["wrong"][:19]) == (401, "401 UNAUTHENTICATED")
            refused = await http.get("/sample/refused", headers={"Authorization": token})
            assert (refused.status_code, refused.json()) == (404, {"wrong": "404 NOT_FOUND: Nothing here."})
            assert (await http.get("/about-sample")).json() == {"about": "a sample"}

    @pytest.mark.parametrize(
        ("name", "reason"),
        [
            ("NO_ROOT", "a route outside its roots: /about-sample"),
            ("TAKEN", "wants /v1/more, which belongs to"),
            ("LARGE", "a route outside its roots: /api/v1/tasks"),
            ("NATIVE", "wants /api/v1/tasks/{task_id}, which"),
        ],
    )
    def test_is_refused_when_it_would_be_open_or_in_the_way(
        self, plug_in: Callable[[str], None], name: str, reason: str
    ) -> None:
        plug_in(name)
        with pytest.raises(PluginError, match=reason):
            create_app()


def test_a_face_whose_library_is_missing_is_not_mounted(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "ag_ui" or name.startswith("extras.faces.agui")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "ag_ui", None)
    faces = load_faces()
    assert set(faces.found) == {"openai", "mcp", "ai-sdk", "a2a", "logs", "accounts"}
    assert faces.missing == {"ag-ui": "needs the library ag_ui: install conclave[faces]"}
