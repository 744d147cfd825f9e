"""Files of the pages: packed or not, sent or not."""

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from app.api.operations import PAGES, WEB_FOLDER

APP = (WEB_FOLDER / "app.js").read_bytes()


@pytest.fixture
def browser() -> TestClient:
    return TestClient(Starlette(routes=PAGES))


class TestPageFile:
    def test_is_packed_for_who_can_unpack_it_alone(self, browser: TestClient) -> None:
        for accepted, packing in {"gzip, br": "gzip", "br": None, "": None}.items():
            answer = browser.get("/web/app.js", headers={"accept-encoding": accepted})
            assert answer.headers.get("content-encoding") == packing and answer.content == APP
            assert answer.headers["vary"] == "Accept-Encoding"

    def test_is_not_sent_again(self, browser: TestClient) -> None:
        sent = browser.get("/web/app.js")
        assert sent.headers["cache-control"] == "no-cache"
        again = browser.get("/web/app.js", headers={"if-none-match": f'"other", W/{sent.headers["etag"]}'})
        assert (again.status_code, again.content) == (304, b"")
        assert browser.get("/web/app.js", headers={"if-none-match": '"other"'}).status_code == 200

    def test_of_another_name_is_not_there(self, browser: TestClient, subtests: pytest.Subtests) -> None:
        for name in ["..%2fsettings.py", "%2e%2e", "", "app.js.gz", "words", "%00", "x" * 5_000]:
            with subtests.test(ascii(name)[:80]):
                assert browser.get(f"/web/{name}").status_code == 404
