from collections.abc import Sequence

from app.domain.knowledge import Passage
from app.embedding import Embedder, EmbeddingUnavailable, Vectors
from app.embedding.cached import CachedEmbedder
from app.reasoning.local import LocalReasoner
from app.reasoning.local.answer import compared, may_be_foreign
from app.reasoning.local.question import read_question
from app.reasoning.local.scoring import Candidate, candidates_of, scored
from tests import factories
from tests.unit.reasoning.local.conftest import request

BEES = (
    "Các tổ ong đặt ở rìa phía bắc của vườn táo.",
    "Mỗi mùa xuân, người nuôi ong kiểm tra từng tổ ba tuần một lần.",
    "Mật được quay vào cuối tháng tám và đóng trong lọ thủy tinh.",
)


class Counting:
    """The real model, and how many passages it was asked to embed."""

    def __init__(self, inner: Embedder, *, away: bool = False):
        self.model, self.dimensions = inner.model, inner.dimensions
        self._inner, self._away = inner, away
        self.embedded = 0

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        if self._away:
            raise EmbeddingUnavailable("away")
        return await self._inner.embed_queries(texts)

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        self.embedded += len(texts)
        return await self._inner.embed_passages(texts)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self._inner.count_tokens(texts)

    async def aclose(self) -> None:
        return None


def ranked(query: str, *passages: Passage) -> list[Candidate]:
    question = read_question(query)
    return scored(question, candidates_of(passages, question))


class TestAcrossLanguages:
    async def test_the_sentence_that_means_the_same_is_found_without_a_shared_word(
        self, embedder: CachedEmbedder
    ) -> None:
        query = "When is the honey harvested?"
        question, pieces = read_question(query), ranked(query, factories.passage(" ".join(BEES), title=""))
        assert may_be_foreign(question, pieces)
        assert (await compared(question, query, pieces, embedder))[0].unit.text == BEES[2]

    async def test_the_finding_quotes_it(self, reasoner: LocalReasoner) -> None:
        passages = [factories.passage(" ".join(BEES), title="", similarity=0.5)]
        finding = await reasoner.answer(request("How often does the beekeeper check the hives?", passages, "en"))
        assert finding.found
        assert BEES[1] in finding.answer

    def test_a_piece_in_ones_own_language_that_says_it_all_ends_the_search(self) -> None:
        query = "When is the honey harvested?"
        own = factories.passage("The honey is harvested on 28 August.", document="own", language="en", title="")
        foreign = factories.passage(" ".join(BEES), title="")
        assert not may_be_foreign(read_question(query), ranked(query, own, foreign))

    def test_a_question_without_diacritics_is_never_compared(self) -> None:
        query = "mat ong duoc quay vao luc nao"
        english = factories.passage("The honey is harvested in late August.", language="en", title="")
        assert not may_be_foreign(read_question(query), ranked(query, english))


class TestCost:
    async def test_few_pieces_are_embedded_however_long_the_passages(self, embedder: CachedEmbedder) -> None:
        counting = Counting(embedder)
        query = "When is the honey harvested?"
        long = [factories.passage(f"{' '.join(BEES)} Trang {page}.", document=f"d{page}") for page in range(8)]
        question, pieces = read_question(query), ranked(query, *long)
        after = await compared(question, query, pieces, counting)
        assert len(after) == len(pieces) > 20
        assert counting.embedded <= 10

    async def test_a_clear_answer_in_words_embeds_nothing(self, embedder: CachedEmbedder) -> None:
        counting = Counting(embedder)
        passages = [factories.passage(" ".join(BEES), title="Nuôi ong", relevance_score=0.95)]
        query = "Mỗi mùa xuân, người nuôi ong kiểm tra từng tổ mấy tuần một lần?"
        finding = await LocalReasoner(counting).answer(request(query, passages))
        assert finding.found
        assert counting.embedded == 0

    async def test_while_the_model_is_away_words_decide(self, embedder: CachedEmbedder) -> None:
        query = "When is the honey harvested?"
        pieces = ranked(query, factories.passage(" ".join(BEES)))
        assert await compared(read_question(query), query, pieces, Counting(embedder, away=True)) == pieces
