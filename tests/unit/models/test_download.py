"""A model comes in whole and as pinned, or not at all, whatever the host, the line, the disk and other processes do."""

import os
import signal
import stat
import subprocess
import sys
import threading
from contextlib import nullcontext
from pathlib import Path

import httpx2
import pytest

from app.errors import AppError, ErrorCode
from app.models.catalogue import Entry
from app.models.download import Downloader, _check_redirects, has_its_hash
from app.models.store import ModelStore, Pulled
from tests.fakes.model_mirror import MODEL_LAYER, Mirror

FILE = "Little.gguf"
SHORT = httpx2.Timeout(0.3)
PULL = """
import sys
from pathlib import Path
from app.models.catalogue import Entry
from app.models.download import Downloader
from app.models.store import ModelStore
if len(sys.argv) > 4:
    import resource, signal
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[4]),) * 2)
entry = Entry(name="little", role="chat", source="hf:some/repo/Little.gguf", sha256=sys.argv[3])
Downloader(ModelStore(Path(sys.argv[1]))).pull(entry, mirror=sys.argv[2])
"""


def entry(sha256: str = "", size: int = 0, source: str = f"hf:some/repo/{FILE}") -> Entry:
    return Entry(name="little", role="chat", source=source, sha256=sha256, size=size)


def pull(store: ModelStore, mirror: Mirror, wanted: Entry, *, trust: bool = False) -> Pulled:
    return Downloader(store, timeout=SHORT).pull(wanted, mirror=mirror.address, trust=trust)


def body_of(store: ModelStore) -> bytes:
    return store.file_of(store.find("little")).read_bytes()


def nothing_is_here(store: ModelStore) -> bool:
    return not store.pulled() and not list(store.folder.glob("little/*"))


class TestPull:
    def test_a_pinned_model_comes_in_for_this_user_alone(self, store: ModelStore, mirror: Mirror) -> None:
        model = pull(store, mirror, entry(mirror.sha256, len(mirror.body)))
        assert mirror.requests == [(f"/some/repo/resolve/main/{FILE}", "")]
        assert body_of(store) == mirror.body and has_its_hash(store, model)
        for path in (store.folder, *store.folder.rglob("*")):
            mode = stat.S_IMODE(path.stat().st_mode)
            assert mode == (0o700 if path.is_dir() else 0o600), path

    def test_what_is_here_is_not_asked_for_again(self, store: ModelStore, mirror: Mirror) -> None:
        first = pull(store, mirror, entry(mirror.sha256))
        assert pull(store, mirror, entry(mirror.sha256)) == first
        assert len(mirror.requests) == 1

    def test_without_a_pin_nothing_is_asked_for_unless_trusted(self, store: ModelStore, mirror: Mirror) -> None:
        with pytest.raises(AppError, match="--trust"):
            pull(store, mirror, entry())
        assert mirror.requests == [] and nothing_is_here(store)

    def test_the_first_pull_pins_and_the_pin_outlives_the_model(self, store: ModelStore, mirror: Mirror) -> None:
        pull(store, mirror, entry(), trust=True)
        store.remove("little")
        assert nothing_is_here(store)
        mirror.body = b"GGUF another release"
        with pytest.raises(AppError, match="its pin is"):
            pull(store, mirror, entry(), trust=True)
        assert nothing_is_here(store)

    def test_the_shape_of_ollama(self, store: ModelStore, mirror: Mirror) -> None:
        model = pull(store, mirror, entry(source="ollama:little:1b"), trust=True)
        digest = f"sha256:{mirror.sha256}"
        assert [path for path, _ in mirror.requests] == [
            "/v2/library/little/manifests/1b", f"/v2/library/little/blobs/{digest}",
        ]  # fmt: skip
        assert model.sha256 == mirror.sha256 and body_of(store) == mirror.body

    def test_a_blob_that_is_not_its_digest_is_thrown_away(self, store: ModelStore, mirror: Mirror) -> None:
        mirror.corrupt = True
        with pytest.raises(AppError, match="its pin is"):
            pull(store, mirror, entry(source="ollama:little:1b"), trust=True)
        assert nothing_is_here(store)

    @pytest.mark.parametrize(
        "layers",
        [
            [],
            [{"mediaType": MODEL_LAYER}],
            [{"mediaType": MODEL_LAYER, "digest": "sha256:../../x", "size": 3}],
            [{"mediaType": MODEL_LAYER, "digest": "sha256:" + "a" * 64, "size": -1}],
            [{"mediaType": MODEL_LAYER, "digest": "sha256:" + "a" * 64, "size": "3"}],
            ["x" * 1_100_000],
        ],
    )
    def test_a_manifest_that_is_none(self, store: ModelStore, mirror: Mirror, layers: list[dict[str, object]]) -> None:
        mirror.layers = layers
        with pytest.raises(AppError, match="manifest"):
            pull(store, mirror, entry(source="ollama:little:1b"), trust=True)
        assert len(mirror.requests) == 1

    def test_a_page_instead_of_a_model_is_never_trusted(self, store: ModelStore, mirror: Mirror) -> None:
        mirror.body = b"<html>Sign in to this network</html>"
        with pytest.raises(AppError, match="no GGUF"):
            pull(store, mirror, entry(), trust=True)
        assert nothing_is_here(store) and store.pin_of(entry()) == ""


class TestFaults:
    @pytest.mark.parametrize("status", [403, 404, 500, 503])
    def test_a_host_that_refuses(self, store: ModelStore, mirror: Mirror, status: int) -> None:
        mirror.status = status
        with pytest.raises(AppError, match=str(status)) as refused:
            pull(store, mirror, entry(mirror.sha256))
        assert refused.value.code is ErrorCode.LLM_UNAVAILABLE and nothing_is_here(store)

    def test_nobody_there(self, store: ModelStore, mirror: Mirror) -> None:
        mirror.address = "http://127.0.0.1:9"
        with pytest.raises(AppError, match="ConnectError"):
            pull(store, mirror, entry(mirror.sha256))

    def test_a_corrupted_body_is_thrown_away(self, store: ModelStore, mirror: Mirror) -> None:
        mirror.corrupt = True
        with pytest.raises(AppError, match="its pin is"):
            pull(store, mirror, entry(mirror.sha256, len(mirror.body)))
        assert nothing_is_here(store)
        mirror.corrupt = False
        pull(store, mirror, entry(mirror.sha256, len(mirror.body)))
        assert [part for _, part in mirror.requests] == ["", ""], "nothing of the wrong body was gone on from"

    @pytest.mark.parametrize("more", [1, 100_000])
    def test_a_body_that_does_not_end_is_left(self, store: ModelStore, mirror: Mirror, more: int) -> None:
        wanted = entry(mirror.sha256, len(mirror.body))
        mirror.body += b"x" * more
        mirror.without_length = True
        with pytest.raises(AppError, match="longer than"):
            pull(store, mirror, wanted)
        assert nothing_is_here(store)

    def test_a_short_body_of_another_size(self, store: ModelStore, mirror: Mirror) -> None:
        wanted = entry(mirror.sha256, len(mirror.body))
        mirror.body = mirror.body[:-5]
        with pytest.raises(AppError, match="ended after"):
            pull(store, mirror, wanted)
        assert nothing_is_here(store)


class TestResuming:
    def test_a_cut_line_is_gone_on_from(self, store: ModelStore, mirror: Mirror) -> None:
        mirror.cut_after = 100_000
        with pytest.raises(AppError, match="pull again"):
            pull(store, mirror, entry(mirror.sha256))
        assert nothing_is_here(store)
        mirror.cut_after = None
        pull(store, mirror, entry(mirror.sha256))
        assert [part for _, part in mirror.requests] == ["", "bytes=100000-"]
        assert body_of(store) == mirror.body

    def test_a_host_without_ranges_begins_anew(self, store: ModelStore, mirror: Mirror) -> None:
        self._cut(store, mirror, entry(mirror.sha256))
        mirror.ignores_ranges = True
        pull(store, mirror, entry(mirror.sha256))
        assert body_of(store) == mirror.body

    def test_another_part_than_was_asked_for_is_refused(self, store: ModelStore, mirror: Mirror) -> None:
        self._cut(store, mirror, entry(mirror.sha256))
        mirror.shifted = True
        with pytest.raises(AppError, match="another part"):
            pull(store, mirror, entry(mirror.sha256))

    def test_unpinned_only_the_same_release_is_gone_on_from(self, store: ModelStore, mirror: Mirror) -> None:
        self._cut(store, mirror, entry())
        mirror.body, mirror.etag = b"GGUF" + b"another release" * 20_000, '"two"'
        pull(store, mirror, entry(), trust=True)
        assert body_of(store) == mirror.body

    def test_unpinned_without_a_mark_it_begins_anew(self, store: ModelStore, mirror: Mirror) -> None:
        mirror.etag = ""
        self._cut(store, mirror, entry())
        pull(store, mirror, entry(), trust=True)
        assert [part for _, part in mirror.requests] == ["", ""]

    def test_all_of_it_was_here_already(self, store: ModelStore, mirror: Mirror) -> None:
        self._cut(store, mirror, entry(mirror.sha256))
        (store.partial("little") / "body").write_bytes(mirror.body)
        pull(store, mirror, entry(mirror.sha256))
        assert mirror.requests[-1][1] == f"bytes={len(mirror.body)}-" and body_of(store) == mirror.body

    def test_what_is_left_is_of_another_body(self, store: ModelStore, mirror: Mirror) -> None:
        self._cut(store, mirror, entry(mirror.sha256))
        part = store.partial("little") / "body"
        part.write_bytes(b"?" + part.read_bytes()[1:])
        with pytest.raises(AppError, match="its pin is"):
            pull(store, mirror, entry(mirror.sha256))
        pull(store, mirror, entry(mirror.sha256))
        assert body_of(store) == mirror.body

    @staticmethod
    def _cut(store: ModelStore, mirror: Mirror, wanted: Entry) -> None:
        mirror.cut_after = 100_000
        with pytest.raises(AppError):
            pull(store, mirror, wanted, trust=True)
        mirror.cut_after = None


class TestProcesses:
    def test_killed_in_the_middle_and_two_at_once(self, store: ModelStore, mirror: Mirror) -> None:
        mirror.held = threading.Event()
        arguments = [sys.executable, "-c", PULL, str(store.folder.parents[1]), mirror.address, mirror.sha256]
        first = subprocess.Popen(arguments)
        try:
            assert mirror.half_sent.wait(20)
            with pytest.raises(AppError, match="Another process") as refused:
                pull(store, mirror, entry(mirror.sha256))
            assert refused.value.code is ErrorCode.CONFLICT_IN_FLIGHT
            with pytest.raises(AppError, match="Another process"):
                store.remove("little")
        finally:
            first.send_signal(signal.SIGKILL)
            first.wait()
        mirror.held.set()
        mirror.held = None
        assert nothing_is_here(store)
        pull(store, mirror, entry(mirror.sha256))
        assert body_of(store) == mirror.body

    def test_a_disk_that_is_full_all_the_same_gets_its_room_back(self, store: ModelStore, mirror: Mirror) -> None:
        arguments = [sys.executable, "-c", PULL, str(store.folder.parents[1]), mirror.address, mirror.sha256, "300000"]
        ended = subprocess.run(arguments, capture_output=True, text=True, check=False)
        assert "The disk is full" in ended.stderr
        assert (store.partial("little") / "body").stat().st_size == 0
        pull(store, mirror, entry(mirror.sha256))
        assert body_of(store) == mirror.body


class TestRoom:
    def test_the_reserve_is_left_free(self, store: ModelStore, mirror: Mirror) -> None:
        full = Downloader(store, reserve_bytes=1 << 60)
        for without_length in (False, True):
            mirror.without_length = without_length
            with pytest.raises(AppError, match="Make room") as refused:
                full.pull(entry(mirror.sha256), mirror=mirror.address)
            assert refused.value.code is ErrorCode.OVERLOADED and nothing_is_here(store)


class TestFromFile:
    def test_a_file_is_held_against_the_pin(self, store: ModelStore, mirror: Mirror, tmp_path: Path) -> None:
        file = tmp_path / "brought.gguf"
        file.write_bytes(mirror.body)
        model = Downloader(store).pull(entry(mirror.sha256), file=file)
        assert body_of(store) == mirror.body and model.sha256 == mirror.sha256
        assert mirror.requests == []

    def test_another_file_is_refused(self, store: ModelStore, mirror: Mirror, tmp_path: Path) -> None:
        file = tmp_path / "brought.gguf"
        file.write_bytes(mirror.body[:-1])
        for wanted, said in ((entry(mirror.sha256), "its pin is"), (entry(), "--trust")):
            with pytest.raises(AppError, match=said):
                Downloader(store).pull(wanted, file=file)
        assert nothing_is_here(store)

    def test_no_file(self, store: ModelStore, tmp_path: Path) -> None:
        with pytest.raises(AppError, match="No such file"):
            Downloader(store).pull(entry("a" * 64), file=tmp_path / "none.gguf")


class TestStore:
    def test_a_model_whose_file_was_cut_is_not_here(self, store: ModelStore, mirror: Mirror) -> None:
        model = pull(store, mirror, entry(mirror.sha256))
        os.truncate(store.file_of(model), 5)
        assert store.pulled() == {}
        pull(store, mirror, entry(mirror.sha256))
        assert body_of(store) == mirror.body

    def test_a_model_that_serves_is_not_removed(self, store: ModelStore, mirror: Mirror) -> None:
        pull(store, mirror, entry(mirror.sha256))
        store.serve("chat", "little")
        with pytest.raises(AppError, match="serves a role"):
            store.remove("little")
        store.serve("chat", "")
        store.remove("little")
        with pytest.raises(AppError, match="no model"):
            store.remove("little")

    def test_a_broken_file_of_roles_is_told(self, store: ModelStore) -> None:
        store.serve("chat", "little")
        assert store.roles() == {"chat": "little"}
        (store.folder / "roles.json").write_text("[")
        with pytest.raises(AppError, match=r"roles\.json"):
            store.roles()


class TestRedirects:
    @pytest.mark.parametrize(
        ("hops", "is_refused"),
        [
            (["https://a/x", "https://b/x"], False),
            (["https://a/x", "http://b/x"], True),
            (["https://a/x", "http://b/x", "https://c/x"], True),
            (["http://a/x", "http://b/x"], False),
        ],
    )
    def test_what_began_with_tls_stays_with_it(self, hops: list[str], is_refused: bool) -> None:
        *earlier, last = [httpx2.Response(200, request=httpx2.Request("GET", url)) for url in hops]
        last.history = earlier
        with pytest.raises(AppError, match="without TLS") if is_refused else nullcontext():
            _check_redirects(last)
