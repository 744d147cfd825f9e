"""What an archive may declare before anything of it is inflated."""

import io
import zipfile

import pytest

from app.ingestion.parsing.archive import list_entries, rebuild
from app.ingestion.parsing.outcome import ParseFailed, ParseFailure, ParseLimits

LIMITS = ParseLimits()


def archive(name: str, content: bytes) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as made:
        made.writestr(name, content)
    return target.getvalue()


def words(count: int) -> bytes:
    """Text that compresses as text does."""
    return b" ".join(b"%x" % (at * 2_654_435_761 % 2**32) for at in range(count))


class TestRatio:
    """Sizes here are far below every other limit: `ParseLimits.inflated_bytes` is 200 MB."""

    def test_what_inflates_more_than_text_does_is_refused(self) -> None:
        content = archive("word/document.xml", b" " * 2_000_000)
        assert 200 * len(content) < 2_000_000 and LIMITS.inflated_bytes > 2_000_000
        for look in (rebuild, list_entries):
            with pytest.raises(ParseFailed) as refused:
                look(content, LIMITS)
            assert refused.value.code is ParseFailure.ARCHIVE_BOMB

    def test_text_of_the_same_size_is_read(self) -> None:
        content = archive("word/document.xml", words(230_000))
        assert list_entries(content, LIMITS)[0][1] > 2_000_000

    def test_small_parts_may_inflate_as_they_like(self) -> None:
        assert list_entries(archive("word/document.xml", b" " * 900_000), LIMITS)

    def test_pictures_have_their_own_room(self) -> None:
        with pytest.raises(ParseFailed) as refused:
            list_entries(archive("word/media/image1.bmp", bytes(51_000_000)), LIMITS)
        assert refused.value.code is ParseFailure.ARCHIVE_BOMB
        assert list_entries(archive("word/media/image1.bmp", bytes(2_000_000)), LIMITS)
