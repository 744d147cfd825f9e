"""What every reader keeps, and what the plain scorer does when it knows less."""

from collections.abc import Sequence

import numpy as np
import pytest

from app.embedding import Embedder, EmbeddingUnavailable, Vectors
from app.reasoning.local.answer import CLOSE, SURE, finding_of, standing_of
from app.reasoning.local.plain_reader import COMPARED, PlainReader
from app.reasoning.reader import Reading, ReadRequest
from tests import factories
from tests.unit.reasoning.local.conftest import request, seed_passages

DOCUMENTS = ("acme/hr/annual-leave-2026", "acme/general/core-values")
QUESTION = "Các giá trị cốt lõi của công ty là gì?"


class Away:
    """The bundled model, unreachable."""

    dimensions = 384

    def __init__(self, model: str):
        self.model = model

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        raise EmbeddingUnavailable("away")

    embed_passages = embed_queries

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [1 for _ in texts]

    async def aclose(self) -> None:
        return None


class Counting(Away):
    """Counts what is embedded."""

    def __init__(self, model: str):
        super().__init__(model)
        self.asked: list[str] = []

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return np.full((len(texts), 384), 384**-0.5, np.float32)

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        self.asked += texts
        return np.full((len(texts), 384), 384**-0.5, np.float32)


def asked(question: str = QUESTION, **rest: object) -> ReadRequest:
    passages = seed_passages(*DOCUMENTS)
    return ReadRequest.model_validate({"question": question, "language": "vi", "passages": passages, **rest})


async def read(embedder: Embedder, wanted: ReadRequest) -> Reading:
    reading = await PlainReader(embedder).read(wanted)
    assert 0 <= reading.confidence <= 1
    assert [one.answers for one in reading.pieces] == sorted((one.answers for one in reading.pieces), reverse=True)
    for piece in reading.pieces:
        assert piece.quote
        assert piece.quote in piece.passage.text
    return reading


class TestEveryReader:
    async def test_the_piece_that_answers_comes_first_and_is_quoted_literally(self, embedder: Embedder) -> None:
        reading = await read(embedder, asked())
        assert "Khách hàng trước tiên, Chính trực, Hợp tác, Kỷ luật" in reading.pieces[0].quote
        assert reading.pieces[0].answers == pytest.approx(reading.confidence)

    async def test_the_same_request_reads_the_same(self, embedder: Embedder) -> None:
        assert await read(embedder, asked()) == await read(embedder, asked())

    async def test_nothing_is_read_of_nothing(self, embedder: Embedder) -> None:
        assert await read(embedder, asked(passages=())) == Reading(pieces=(), confidence=0)

    @pytest.mark.parametrize("question", ["", "?", "\x00\ud800", "9" * 400, "a " * 3000])
    async def test_odd_questions_are_no_error(self, embedder: Embedder, question: str) -> None:
        assert len((await read(embedder, asked(question))).pieces) > 1

    async def test_each_part_has_its_pieces(self, embedder: Embedder) -> None:
        parts = (QUESTION, "Phép chuyển phải dùng trước ngày nào?")
        reading = await read(embedder, asked(" Và ".join(parts), parts=parts))
        assert {piece.part for piece in reading.pieces} == {0, 1}


class TestPlainReader:
    async def test_words_decide_while_the_model_is_away(self, embedder: Embedder) -> None:
        assert "Chính trực" in (await read(Away(embedder.model), asked())).pieces[0].quote

    async def test_vectors_of_another_model_mean_nothing_to_it(self) -> None:
        other = Counting("other")
        await read(other, asked())
        assert not other.asked

    async def test_few_pieces_are_compared_and_each_once(self, embedder: Embedder) -> None:
        counting = Counting(embedder.model)
        reader = PlainReader(counting)
        for _ in range(2):
            await reader.read(asked())
        assert len(counting.asked) == COMPARED


class TestStanding:
    @pytest.mark.parametrize(
        ("confidence", "found", "closest"), [(SURE, True, False), (CLOSE, True, True), (CLOSE - 0.01, False, False)]
    )
    async def test_an_unsure_answer_is_the_closest_passage_or_none(
        self, embedder: Embedder, confidence: float, *, found: bool, closest: bool
    ) -> None:
        reading = (await read(embedder, asked())).model_copy(update={"confidence": confidence})
        finding = finding_of(request(QUESTION, [factories.passage("x")]), reading, standing_of(confidence))
        assert (finding.found, finding.is_closest) == (found, closest)
