"""Files of the pages: packed or not, sent or not."""

import gzip

import pytest

from app.api.operations import WEB_FOLDER, page_file
from app.errors import AppError

APP = (WEB_FOLDER / "app.js").read_bytes()


class TestPageFile:
    def test_is_packed_for_who_can_unpack_it(self, subtests: pytest.Subtests) -> None:
        for accepted in ["gzip", "gzip, deflate, br, zstd", "br, GZIP;q=0.5", "gzip;q=1.0"]:
            with subtests.test(ascii(accepted)[:80]):
                answer = page_file("app.js", {"accept-encoding": accepted})
                assert answer.headers["content-encoding"] == "gzip" and answer.headers["vary"] == "Accept-Encoding"
                assert gzip.decompress(bytes(answer.body)) == APP and len(answer.body) < len(APP) / 2

    def test_is_plain_for_everybody_else(self, subtests: pytest.Subtests) -> None:
        for accepted in ["", "br", "gzip;q=0", "gzip; q=0.0", "gzipped"]:
            with subtests.test(ascii(accepted)[:80]):
                answer = page_file("app.js", {"accept-encoding": accepted})
                assert "content-encoding" not in answer.headers and answer.body == APP

    def test_is_not_sent_again(self) -> None:
        for asked in ({"accept-encoding": "gzip"}, {}):
            tag = page_file("app.js", asked).headers["etag"]
            again = page_file("app.js", {**asked, "if-none-match": f'"other", W/{tag}'})
            assert (again.status_code, again.body, again.headers["etag"]) == (304, b"", tag)
            assert page_file("app.js", {**asked, "if-none-match": '"other"'}).status_code == 200

    def test_a_packed_one_and_a_plain_one_have_tags_of_their_own(self) -> None:
        plain, packed = page_file("app.js", {}), page_file("app.js", {"accept-encoding": "gzip"})
        assert plain.headers["etag"] != packed.headers["etag"]

    def test_of_another_name_is_not_there(self, subtests: pytest.Subtests) -> None:
        for name in ["../settings.py", "", "app.js.gz", "words"]:
            with subtests.test(ascii(name)[:80]), pytest.raises(AppError):
                page_file(name, {})
