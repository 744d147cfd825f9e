"""The whole surface, read from OpenAPI: who may enter, what errors look like, what travels in headers."""

import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pytest

from app.main import Services, create_app
from app.main.storage import Readiness
from app.settings import Settings
from tests.chaos.chats import frames_of

PUBLIC = {
    ("get", "/live"),
    ("get", "/ready"),
    ("get", "/metrics"),
    ("get", "/api/v1/auth/dev"),
    ("post", "/api/v1/auth/dev"),
    ("get", "/.well-known/agent-card.json"),
    ("get", "/api/v1/auth/providers"),
    ("get", "/api/v1/auth/local"),
    ("post", "/api/v1/auth/local"),
    ("post", "/api/v1/auth/link"),
    ("put", "/api/v1/auth/link"),
    ("get", "/api/v1/auth/{provider}/start"),
    ("get", "/api/v1/auth/{provider}/callback"),
}
"""Everything that asks for no token (demo users bring a key); a new route is closed unless added here on purpose."""
SMALL_DISK_BYTES = 3 * Settings.model_fields["min_free_bytes"].default // 2
IDS = re.compile(r"{(task|session|document|file|key|connector)_id}")
PAGES = (
    "/",
    "/docs",
    "/openapi.json",
    "/web/app.js",
    "/web/style.css",
    "/web/icon.svg",
    "/admin",
    "/web/admin.js",
    "/web/admin.css",
    "/web/admin-work.css",
    "/desk",
    "/web/desk.js",
)


@pytest.fixture(scope="package")
async def openapi(address: str) -> dict[str, Any]:
    async with httpx.AsyncClient() as http:
        found: dict[str, Any] = (await http.get(f"{address}/openapi.json")).json()
        return found


def routes(openapi: dict[str, Any]) -> list[tuple[str, str]]:
    return [(method, path) for path, methods in openapi["paths"].items() for method in methods]


def filled(path: str) -> str:
    return IDS.sub("00000000-0000-4000-8000-000000000000", path).replace("{provider}", "nobody")


def code_of(answer: httpx.Response) -> str:
    """Of a refusal, in our shape or in OpenAI's."""
    told = answer.json()
    return str(told.get("error", told)["code"])


class TestEveryRoute:
    async def test_is_documented(self, openapi: dict[str, Any]) -> None:
        expected = {
            ("post", "/api/v1/chat"),
            ("post", "/api/v1/chat/stream"),
            ("post", "/api/v1/plans"),
            ("post", "/api/v1/search"),
            ("get", "/api/v1/tasks/{task_id}"),
            ("get", "/api/v1/tasks/{task_id}/events"),
            ("post", "/api/v1/tasks/{task_id}/cancel"),
            ("post", "/api/v1/tasks/{task_id}/approve"),
            ("put", "/api/v1/tasks/{task_id}/feedback"),
            ("post", "/api/v1/tasks/{task_id}/resolve"),
            ("get", "/api/v1/conflicts"),
            ("post", "/api/v1/tasks/{task_id}/conflicts/tell"),
            ("get", "/api/v1/desk/items"),
            ("patch", "/api/v1/desk/items/{item_id}"),
            ("post", "/api/v1/desk/items/{item_id}/ask"),
            ("post", "/api/v1/desk/items/{item_id}/answer"),
            ("get", "/api/v1/sessions"),
            ("get", "/api/v1/sessions/{session_id}"),
            ("patch", "/api/v1/sessions/{session_id}"),
            ("delete", "/api/v1/sessions/{session_id}"),
            ("get", "/api/v1/users"),
            ("post", "/api/v1/users"),
            ("patch", "/api/v1/users/{user_id}"),
            ("delete", "/api/v1/users/{user_id}/data"),
            ("get", "/api/v1/keys"),
            ("post", "/api/v1/keys"),
            ("post", "/api/v1/keys/{key_id}/rotate"),
            ("delete", "/api/v1/keys/{key_id}"),
            ("get", "/api/v1/connectors"),
            ("post", "/api/v1/connectors"),
            ("get", "/api/v1/connectors/{connector_id}"),
            ("delete", "/api/v1/connectors/{connector_id}"),
            ("post", "/api/v1/connectors/{connector_id}/sync"),
            ("get", "/api/v1/auth/session"),
            ("post", "/api/v1/auth/logout"),
            ("get", "/api/v1/account"),
            ("put", "/api/v1/account/password"),
            ("post", "/api/v1/account/codes"),
            ("put", "/api/v1/account/codes"),
            ("get", "/api/v1/account/invitations"),
            ("post", "/api/v1/account/invitations/{user_id}"),
            ("get", "/api/v1/agents"),
            ("post", "/api/v1/files"),
            ("get", "/api/v1/files"),
            ("get", "/api/v1/files/{file_id}"),
            ("delete", "/api/v1/files/{file_id}"),
            ("post", "/api/v1/documents"),
            ("get", "/api/v1/documents"),
            ("get", "/api/v1/documents/health"),
            ("get", "/api/v1/contradictions"),
            ("patch", "/api/v1/contradictions/{finding_id}"),
            ("get", "/api/v1/documents/{document_id}"),
            ("patch", "/api/v1/documents/{document_id}"),
            ("delete", "/api/v1/documents/{document_id}"),
            ("get", "/api/v1/documents/{document_id}/versions"),
            ("get", "/api/v1/documents/{document_id}/original"),
            ("get", "/api/v1/reading"),
            ("get", "/api/v1/reading/titles"),
            ("post", "/api/v1/logs"),
            ("get", "/api/v1/logs"),
            ("get", "/api/v1/performance"),
            ("get", "/api/v1/admin/tasks"),
            ("get", "/api/v1/audit"),
            ("get", "/api/v1/audit/chain"),
            ("get", "/api/v1/admin/queues"),
            ("post", "/api/v1/admin/tasks/{task_id}/cancel"),
            ("post", "/api/v1/admin/tasks/{task_id}/retry"),
            ("get", "/api/v1/admin/usage"),
            ("get", "/api/v1/admin/evaluations"),
            ("get", "/api/v1/admin/agents"),
            ("get", "/api/v1/admin/readers"),
            ("get", "/v1/models"),
            ("get", "/v1/models/{model}"),
            ("post", "/v1/chat/completions"),
            ("post", "/v1/embeddings"),
            ("post", "/v1/responses"),
            ("post", "/ag-ui"),
            ("post", "/ui/chat"),
            ("get", "/ui/chat/{chat_id}/stream"),
            ("post", "/a2a"),
        }
        assert set(routes(openapi)) == expected | PUBLIC
        for method, path in routes(openapi):
            assert openapi["paths"][path][method]["summary"]
            assert bool(openapi["paths"][path][method]["security"]) == ((method, path) not in PUBLIC)

    async def test_gives_nobody_401_unless_it_is_public(
        self, openapi: dict[str, Any], address: str, nobody: httpx.AsyncClient
    ) -> None:
        for method, path in routes(openapi):
            for body in (None, {}, {"query": "hi"}, {"user": "acme/lan"}):
                answer = await nobody.request(method, address + filled(path), json=body)
                if path == "/api/v1/auth/dev" or "{provider}" in path:
                    assert answer.status_code == 404
                elif (method, path) in PUBLIC:
                    assert answer.status_code in (200, 422), path
                else:
                    assert (answer.status_code, code_of(answer)) == (401, "UNAUTHENTICATED"), path

    @pytest.mark.parametrize("user", ["acme/lan", "acme/admin"])
    async def test_gives_the_same_404_for_unknown_ids(
        self, openapi: dict[str, Any], address: str, client_of: Callable[[str], httpx.AsyncClient], user: str
    ) -> None:
        http, with_ids = client_of(user), [(method, path) for method, path in routes(openapi) if IDS.search(path)]
        assert len(with_ids) == 24
        for method, path in with_ids:
            body = {"patch": {"scope": "public"}, "put": {"rating": 1}}.get(method)
            body = {"approved": True} if path.endswith("/approve") else body
            if path.endswith("/tell"):
                body = dict.fromkeys(("document_id", "other_document_id"), "00000000-0000-4000-8000-000000000000")
            body = {"pinned": True} if (method, path) == ("patch", "/api/v1/sessions/{session_id}") else body
            answer = await http.request(method, address + filled(path), json=body, params={"documents": "keep"})
            is_admins = (
                "/admin/" in path
                or "{connector_id}" in path
                or ("{document_id}" in path and method in ("patch", "delete"))
            )
            expected = (403, "PERMISSION_DENIED") if is_admins and user == "acme/lan" else (404, "NOT_FOUND")
            assert (answer.status_code, answer.json()["code"]) == expected, path
            malformed = await http.request(method, address + IDS.sub("1", path), json=body)
            is_refused_first = "/admin/" in path and user == "acme/lan"
            expected = (403, "PERMISSION_DENIED") if is_refused_first else (422, "PAYLOAD_INVALID")
            assert (malformed.status_code, malformed.json()["code"]) == expected, path

    async def test_refuses_other_methods_with_a_problem(
        self, openapi: dict[str, Any], address: str, lan: httpx.AsyncClient
    ) -> None:
        for path, methods in openapi["paths"].items():
            unused = next(method for method in ("put", "patch") if method not in methods)
            answer = await lan.request(unused, address + filled(path))
            assert answer.status_code == 405
            own = "application/json" if path.startswith("/v1/") else "application/problem+json"
            assert answer.headers["content-type"] == own
            assert answer.headers["allow"]

    async def test_shows_browsers_a_page_where_nothing_is_and_clients_a_problem(
        self, address: str, nobody: httpx.AsyncClient
    ) -> None:
        browser = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
        for path in ("/nowhere", "/web/nothing.js", "/admin/x"):
            page = await nobody.get(address + path, headers=browser)
            assert page.status_code == 404 and page.headers["content-type"].startswith("text/html")
            assert "Không có trang nào" in page.text and "There is no page" in page.text
            assert "script-src 'self'" in page.headers["content-security-policy"]
        headers: tuple[tuple[str, dict[str, str]], ...] = (("GET", {}), ("GET", {"Accept": "*/*"}), ("POST", browser))
        for method, sent in headers:
            answer = await nobody.request(method, f"{address}/nowhere", headers=sent)
            assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")
            assert answer.headers["content-type"] == "application/problem+json"

    async def test_names_its_request(self, address: str, nobody: httpx.AsyncClient) -> None:
        given = await nobody.get(f"{address}/live", headers={"X-Request-ID": "abc-12345678"})
        assert given.headers["x-request-id"] == "abc-12345678"
        made = await nobody.get(f"{address}/live", headers={"X-Request-ID": "a b; c"})
        assert len(made.headers["x-request-id"]) == 32


class TestOpenApi:
    async def test_shows_examples_in_both_languages(self, openapi: dict[str, Any]) -> None:
        examples = openapi["components"]["schemas"]["ChatBody"]["examples"]
        assert any("giá trị" in example["query"] for example in examples)
        assert any("annual leave" in example["query"] for example in examples)
        answers = openapi["paths"]["/api/v1/chat"]["post"]["responses"]
        assert answers["200"]["content"]["application/json"]["example"]["outcome"] == "answered"
        assert answers["502"]["content"]["application/json"]["example"]["error_code"] == "AGENT_EXECUTION_FAILED"
        stream = openapi["paths"]["/api/v1/chat/stream"]["post"]["responses"]["200"]["content"]
        assert list(stream) == ["text/event-stream"]

    async def test_says_what_is_sent(self, openapi: dict[str, Any]) -> None:
        """The examples are what the API sends (other tests hold that), so they fit what is said of it."""
        paths, known = openapi["paths"], {"components": openapi["components"]}
        for status in ("200", "502"):
            content = paths["/api/v1/chat"]["post"]["responses"][status]["content"]["application/json"]
            jsonschema.validate(content["example"], content["schema"] | known)
        stream = paths["/api/v1/chat/stream"]["post"]["responses"]["200"]["content"]["text/event-stream"]
        told = stream["schema"]["properties"]["data"]["contentSchema"] | known
        frames = frames_of(stream["example"])
        assert frames
        for frame in frames:
            jsonschema.validate(frame.data, told)


class TestPages:
    async def test_are_served_with_a_policy_that_allows_nothing_from_outside(
        self, address: str, nobody: httpx.AsyncClient, subtests: pytest.Subtests
    ) -> None:
        for path in PAGES:
            with subtests.test(ascii(path)[:80]):
                answer = await nobody.get(address + path)
                assert answer.status_code == 200
                policy = answer.headers["content-security-policy"]
                assert "default-src 'none'" in policy and "'unsafe" not in policy and "http" not in policy
                assert "frame-ancestors 'none'" in policy
                assert answer.headers["x-content-type-options"] == "nosniff"

    async def test_ask_no_other_machine_for_anything(
        self, address: str, nobody: httpx.AsyncClient, subtests: pytest.Subtests
    ) -> None:
        for path in PAGES[:2] + PAGES[3:]:
            with subtests.test(ascii(path)[:80]):
                text = (await nobody.get(address + path)).text.replace("http://www.w3.org/2000/svg", "")
                assert "http://" not in text and "https://" not in text and "//cdn" not in text
                assert (
                    "innerHTML" not in text
                    and "<script>" not in text
                    and " style=" not in text
                    and "onclick=" not in text
                )

    async def test_are_the_only_files_there_are(
        self, address: str, nobody: httpx.AsyncClient, subtests: pytest.Subtests
    ) -> None:
        for name in ["..%2fmain%2fhttp.py", "../main/http.py", "%2e%2e/settings.py", "x.js", "app.py"]:
            with subtests.test(ascii(name)[:80]):
                assert (await nobody.get(f"{address}/web/{name}")).status_code == 404


class TestHealth:
    async def test_live_and_ready(self, address: str, nobody: httpx.AsyncClient) -> None:
        assert (await nobody.get(f"{address}/live")).json() == {"status": "ok"}
        ready = await nobody.get(f"{address}/ready")
        assert (ready.status_code, ready.json()["status"]) == (200, "ready")
        checks = ("database", "migrations", "row_security", "embedder", "disk_space", "worker")
        assert ready.json()["checks"] == dict.fromkeys(checks, True)

    async def test_is_not_ready_while_the_disk_is_nearly_full(self, house: Services, small_disk: Path) -> None:
        settings = house.settings.model_copy(update={"data_dir": small_disk})
        storage, app = replace(house.storage, settings=settings), create_app(services=house)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as http:
            for filled_bytes, expected in ((1, 200), (SMALL_DISK_BYTES // 2, 503), (0, 200)):
                (small_disk / "filled").write_bytes(bytes(filled_bytes))
                ready = Readiness(storage, lambda: True, lambda: None)
                app.state.services = replace(house.rooms, readiness=ready)
                answer = await http.get("/ready")
                assert answer.status_code == expected
                assert answer.json()["checks"]["disk_space"] is (expected == 200)

    async def test_is_not_ready_where_its_folder_is_gone(self, house: Services, tmp_path: Path) -> None:
        settings = house.settings.model_copy(update={"data_dir": tmp_path / "gone"})
        ready = Readiness(replace(house.storage, settings=settings), lambda: True, lambda: None)
        assert not (await ready())["disk_space"]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, a little larger than the room that must be free; skips where none can be mounted."""
    size = f"size={SMALL_DISK_BYTES}"
    mounted = subprocess.run(("mount", "-t", "tmpfs", "-o", size, "tmpfs", str(tmp_path)), check=False)
    if mounted.returncode:
        pytest.skip("no file system can be mounted here")
    yield tmp_path
    subprocess.run(("umount", str(tmp_path)), check=True)
