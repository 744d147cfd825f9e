"""A backup's file: whatever is changed, moved, cut or added in it is told before a byte of it is used."""

import io
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import AppError
from app.operations import contents, sealed
from app.operations.contents import DUMP, Manifest, check_backup, extract, member_of, write_backup
from app.operations.sealed import SealedReader, SealedWriter
from tests.cases import each_case

PASSPHRASE = "correct horse battery"
CHUNK = 64
SEALS = each_case("passphrase", [PASSPHRASE, None], ids=["encrypted", "plain"])


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealed, "CHUNK", CHUNK)
    monkeypatch.setattr(sealed, "COST", 1 << 10)


def written(data: bytes, passphrase: str | None) -> bytes:
    file = io.BytesIO()
    writer = SealedWriter(file, passphrase)
    writer.write(data)
    writer.finish()
    return file.getvalue()


def read(body: bytes, passphrase: str | None) -> bytes:
    reader, parts = SealedReader(io.BytesIO(body), passphrase), []
    while part := reader.read(100):
        parts.append(part)
    return b"".join(parts)


def refuses(body: bytes, passphrase: str | None = PASSPHRASE) -> str:
    with pytest.raises(AppError) as told:
        read(body, passphrase)
    return told.value.detail


class TestSealed:
    @given(st.binary(max_size=5 * CHUNK), st.lists(st.integers(1, 200), max_size=8))
    def test_gives_back_what_was_written_however_it_was_cut(self, data: bytes, cuts: list[int]) -> None:
        file = io.BytesIO()
        writer, rest = SealedWriter(file, None), data
        for cut in cuts:
            writer.write(rest[:cut])
            rest = rest[cut:]
        writer.write(rest)
        writer.finish()
        assert read(file.getvalue(), None) == data

    @each_case("length", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 3 * CHUNK - 5])
    def test_encrypted_around_the_edges_of_chunks(self, length: int) -> None:
        data = bytes(range(256))[:length]
        body = written(data, PASSPHRASE)
        assert read(body, PASSPHRASE) == data and (length < 5 or data[:5] not in body)

    @SEALS
    def test_every_flipped_bit_is_found(self, passphrase: str | None) -> None:
        body = written(b"x" * (3 * CHUNK + 10), passphrase)
        for place in range(0, len(body), 7):
            changed = bytearray(body)
            changed[place] ^= 1 << place % 8
            assert refuses(bytes(changed), passphrase)

    @SEALS
    def test_every_shorter_and_longer_file_is_refused(self, passphrase: str | None) -> None:
        body = written(b"x" * (3 * CHUNK + 10), passphrase)
        for length in {*range(0, len(body), 11), len(body) - 1}:
            assert refuses(body[:length], passphrase)
        assert refuses(body + b"y", passphrase)

    @SEALS
    def test_chunks_that_changed_places_were_left_out_or_came_twice_are_refused(self, passphrase: str | None) -> None:
        size = CHUNK + 16
        body = written(b"".join(bytes([one]) * CHUNK for one in range(4)) + b"end", passphrase)
        start = len(body) - 4 * size - (size - CHUNK + 3)
        head, chunks, last = body[:start], [body[start + n * size :][:size] for n in range(4)], body[start + 4 * size :]
        assert head + b"".join(chunks) + last == body
        one, two, three, four = chunks
        for others in ([one, three, two, four], [one, two, four], [one, one, two, three, four], [one, two, three]):
            assert "chunk" in refuses(head + b"".join(others) + last, passphrase)
        assert "chunk" in refuses(head + b"".join(chunks), passphrase), "the end was cut off between two chunks"

    def test_another_passphrase_is_told_as_that(self) -> None:
        body = written(b"x", PASSPHRASE)
        assert "passphrase is not" in refuses(body, "another passphrase") and "give its passphrase" in refuses(
            body, None
        )

    def test_chunks_of_another_backup_with_the_same_passphrase_are_refused(self) -> None:
        ours, others = written(b"a" * 10, PASSPHRASE), written(b"b" * 10, PASSPHRASE)
        assert "chunk 1" in refuses(ours[:-26] + others[-26:])

    @each_case("cost", ["3", "1073741824", "-1", '"x"'])
    def test_a_file_cannot_ask_for_all_the_memory(self, cost: str) -> None:
        body = written(b"x", PASSPHRASE).replace(b'"cost": 1024', b'"cost": ' + cost.encode())
        assert "first lines" in refuses(body)


def make(path: Path, files: dict[str, bytes], change: Callable[[Manifest], Manifest] = lambda same: same) -> Manifest:
    bodies = [io.BytesIO(content) for content in files.values()]
    manifest = Manifest(
        version="1", revision="0001", server=18, made_at=datetime.now(UTC), companies=("a",), counts={}, models={},
        members=tuple(member_of(name, body) for name, body in zip(files, bodies, strict=True)),
    )  # fmt: skip
    manifest = change(manifest)
    write_backup(manifest, bodies, path, PASSPHRASE, lambda *_: None)
    return manifest


class TestContents:
    def test_are_private_whole_and_come_back(self, tmp_path: Path) -> None:
        target, files = tmp_path / "one.backup", {DUMP: b"d" * 500, "spool/a.sqlite": b"", "jwt-secret": b"s"}
        manifest = make(target, files)
        assert target.stat().st_mode & 0o777 == 0o600 and [*tmp_path.iterdir()] == [target]
        assert check_backup(target, PASSPHRASE, lambda *_: None) == manifest
        extract(target, PASSPHRASE, tmp_path / "out")
        assert {name: (tmp_path / "out" / name).read_bytes() for name in files} == files

    @each_case("name", ["../x", "spool/../../x", "/etc/x", "postgres/PG_VERSION", "demo-key", "spool/a\0"])
    def test_that_would_lie_elsewhere_are_refused(self, name: str, tmp_path: Path) -> None:
        with pytest.raises(AppError, match="belong to no data directory"):
            make(tmp_path / "one", {DUMP: b"", name: b"x"})
        assert not any(tmp_path.iterdir())

    def test_that_are_not_what_the_manifest_says_never_become_a_backup(self, tmp_path: Path) -> None:
        def forget(manifest: Manifest) -> Manifest:
            return manifest.model_copy(update={"members": manifest.members[:1]})

        with pytest.raises(AppError, match="more than it says"):
            make(tmp_path / "one", {DUMP: b"", "jwt-secret": b"x"}, forget)
        with pytest.raises(AppError, match="not what was put there"):
            make(tmp_path / "one", {DUMP: b"x"}, lambda one: one.model_copy(
                update={"members": (one.members[0].model_copy(update={"sha256": "0" * 64}),)}
            ))  # fmt: skip
        assert not any(tmp_path.iterdir())

    def test_a_link_beside_the_place_is_not_followed(self, tmp_path: Path) -> None:
        victim = tmp_path / "victim"
        victim.write_text("mine")
        (tmp_path / "one.part").symlink_to(victim)
        make(tmp_path / "one", {DUMP: b"x"})
        assert victim.read_text() == "mine" and not (tmp_path / "one").is_symlink()

    def test_a_manifest_without_end_is_not_read(self, tmp_path: Path) -> None:
        target = tmp_path / "one"
        target.write_bytes(written((contents._MOST_MANIFEST + 1).to_bytes(8, "big"), None))
        with pytest.raises(AppError, match="no end"):
            check_backup(target, None, lambda *_: None)
