"""What every reader keeps, and what the plain scorer does when it knows less."""

from collections.abc import Sequence

import numpy as np
import pytest

from app.domain.knowledge import Language
from app.embedding import ASKED, PIECE, Embedder, EmbeddingUnavailable, Tokens, Vectors
from app.reasoning.local.answer import CLOSE, SURE, Standing, finding_of, standing_of
from app.reasoning.local.plain_reader import COMPARED, PlainReader
from app.reasoning.local.rendering import render
from app.reasoning.reader import Reading, ReadRequest, Says
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

    async def read_question(self, text: str) -> Tokens:
        raise EmbeddingUnavailable("away")

    async def read_pieces(self, pieces: Sequence[tuple[str, str]]) -> list[Tokens]:
        raise EmbeddingUnavailable("away")

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [1 for _ in texts]

    async def aclose(self) -> None:
        return None


class Counting(Away):
    """Counts what is read."""

    def __init__(self, model: str):
        super().__init__(model)
        self.asked: list[tuple[str, str]] = []

    async def read_question(self, text: str) -> Tokens:
        return self._same(ASKED)

    async def read_pieces(self, pieces: Sequence[tuple[str, str]]) -> list[Tokens]:
        self.asked += pieces
        return [self._same(PIECE) for _ in pieces]

    def _same(self, kind: int) -> Tokens:
        states = np.full((2, 384), 384**-0.5, np.float16)
        kinds = np.full(2, kind, np.uint8)
        return Tokens(np.arange(2, dtype=np.int32), np.ones(2, np.float32), kinds, states, states[0].astype(np.float32))


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

    async def test_few_pieces_are_read_and_each_once(self, embedder: Embedder) -> None:
        counting = Counting(embedder.model)
        reader = PlainReader(counting)
        for _ in range(2):
            await reader.read(asked())
        assert len(counting.asked) == COMPARED

    async def test_what_another_reading_pushes_out_is_no_loss(self, embedder: Embedder) -> None:
        class Forgetting(Counting):
            async def read_question(self, text: str) -> Tokens:
                reader._read.clear()
                return await super().read_question(text)

        reader = PlainReader(Forgetting(embedder.model))
        for question in (QUESTION, QUESTION, "Ai duyệt?"):
            assert (await reader.read(asked(question))).pieces


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

    @pytest.mark.parametrize(
        ("standing", "says", "language", "begins"),
        [
            ("answer", "no", "vi", "Không — "),
            ("answer", "yes", "en", "Yes — "),
            ("answer", None, "vi", ""),
            ("closest", "no", "vi", ""),
        ],
    )
    async def test_an_answer_begins_with_what_its_quote_surely_says(
        self, embedder: Embedder, standing: Standing, says: Says | None, language: Language, begins: str
    ) -> None:
        reading = await read(embedder, asked())
        first = reading.pieces[0].model_copy(update={"says": says})
        reading = reading.model_copy(update={"pieces": (first, *reading.pieces[1:])})
        wanted = request(QUESTION, [factories.passage("x")]).model_copy(update={"language": language})
        finding = finding_of(wanted, reading, standing)
        assert finding.answer == begins + render(finding.quotes)
        assert all(quote.text in quote.passage.text for quote in finding.quotes)
