"""The model file of the bundled embedder: built once, never half, noticed when damaged."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from app.embedding import EmbeddingUnavailable, Vectors, onnx
from app.embedding.onnx import OnnxEmbedder, sentencepiece_model
from app.embedding.weights import Weights

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("nothing_remembered")]

TEXT = "Nhân viên được nghỉ 12 ngày phép mỗi năm."


@contextmanager
def opened(folder: Path) -> Iterator[OnnxEmbedder]:
    OnnxEmbedder.open_ahead(folder, threads=1)
    embedder = OnnxEmbedder.open(folder, threads=1)
    try:
        yield embedder
    finally:
        asyncio.run(embedder.aclose())


def vector(folder: Path) -> Vectors:
    with opened(folder) as embedder:
        return asyncio.run(embedder.embed_passages([TEXT]))


def only_file(folder: Path) -> Path:
    (path,) = folder.glob("*.onnx")
    return path


@pytest.fixture(scope="module")
def vocabulary() -> bytes:
    """The file of the vocabulary, as it is made where there is none."""
    return sentencepiece_model(Weights().vocabulary)


@pytest.fixture(scope="module")
def built(nothing_remembered: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, str, Vectors]:
    """Content and name of a model file, and a vector made with it."""
    folder = tmp_path_factory.mktemp("built")
    made = vector(folder)
    return only_file(folder).read_bytes(), only_file(folder).name, made


@pytest.fixture(autouse=True)
def vocabulary_made_once(monkeypatch: pytest.MonkeyPatch, vocabulary: bytes) -> None:
    """The file beside the model's is kept by the same code; making it in every folder would take most of the time."""
    monkeypatch.setattr(onnx, "sentencepiece_model", lambda _: vocabulary)


@pytest.fixture
def folder(tmp_path: Path, built: tuple[bytes, str, Vectors]) -> Path:
    (tmp_path / built[1]).write_bytes(built[0])
    return tmp_path


@pytest.fixture
def no_builder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx, "_BUILDER", "app.embedding.nowhere")


@pytest.fixture
def quick_builder(monkeypatch: pytest.MonkeyPatch, built: tuple[bytes, str, Vectors]) -> None:
    """It gives what the real one gave before."""
    monkeypatch.setattr(onnx, "_build_model", lambda: built[0])


class TestModelFile:
    @pytest.mark.usefixtures("no_builder")
    def test_is_read_when_it_is_there(self, folder: Path, built: tuple[bytes, str, Vectors]) -> None:
        assert np.array_equal(vector(folder), built[2])

    @pytest.mark.parametrize(
        "damage",
        [
            pytest.param(lambda whole: whole[: len(whole) // 2], id="half"),
            pytest.param(lambda whole: b"", id="empty"),
            pytest.param(lambda whole: whole[:9_000_000] + b"\xff" + whole[9_000_001:], id="one byte"),
            pytest.param(lambda whole: whole + b"\0", id="longer"),
        ],
    )
    @pytest.mark.usefixtures("quick_builder")
    def test_is_built_anew_when_damaged(self, folder: Path, built: tuple[bytes, str, Vectors], damage: object) -> None:
        assert callable(damage)
        only_file(folder).write_bytes(damage(built[0]))
        assert np.array_equal(vector(folder), built[2])
        assert (only_file(folder).name, only_file(folder).read_bytes()) == (built[1], built[0])

    @pytest.mark.usefixtures("no_builder")
    def test_of_other_weights_is_left_alone(self, folder: Path) -> None:
        path = only_file(folder)
        family, recipe, _, digest = path.name.removesuffix(".onnx").split(".")
        other = path.rename(path.with_name(f"{family}.{recipe}.00000000.{digest}.onnx"))
        with pytest.raises(EmbeddingUnavailable):
            OnnxEmbedder.open(folder)
        assert other.exists()

    def test_is_built_by_two_processes_at_once(self, tmp_path: Path, built: tuple[bytes, str, Vectors]) -> None:
        program = "import sys, pathlib; from app.embedding.onnx import *; OnnxEmbedder.open(pathlib.Path(sys.argv[1]))"
        command = [sys.executable, "-c", program, str(tmp_path / "models")]
        both = [subprocess.Popen(command, cwd=Path(__file__).parents[3]) for _ in range(2)]
        assert [process.wait(100) for process in both] == [0, 0]
        assert only_file(tmp_path / "models").read_bytes() == built[0]

    @pytest.mark.usefixtures("quick_builder")
    def test_is_not_needed_where_nothing_can_be_written(
        self, tmp_path: Path, built: tuple[bytes, str, Vectors]
    ) -> None:
        blocked = tmp_path / "a file"
        blocked.touch()
        assert np.array_equal(vector(blocked / "models"), built[2])


class TestWhenItCannotRun:
    @pytest.mark.usefixtures("no_builder")
    def test_says_so_when_it_cannot_be_built(self, tmp_path: Path) -> None:
        with pytest.raises(EmbeddingUnavailable, match="cannot be built"):
            OnnxEmbedder.open(tmp_path)

    def test_says_so_when_the_engine_refuses_the_model(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setattr(onnx, "_build_model", lambda: b"no model")
        with pytest.raises(EmbeddingUnavailable, match="cannot run"):
            OnnxEmbedder.open(tmp_path)
