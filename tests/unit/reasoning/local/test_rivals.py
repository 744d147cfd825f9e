"""Pieces of two documents that give two values of one thing are told from those that agree or speak of another."""

from datetime import UTC, datetime

import numpy as np

from app.domain.knowledge import Passage
from app.embedding import Embedder
from app.reasoning.local.answer import rivals_of
from app.reasoning.local.plain_reader import PlainReader, stored_trees
from app.reasoning.local.rivals import COLUMNS
from app.reasoning.reader import Reading, ReadRequest
from tests.factories import passage

OLD = "Nhân viên chính thức được nghỉ 12 ngày phép năm hưởng nguyên lương."
NEW = "Từ năm 2026 nhân viên chính thức được hưởng 14 ngày nghỉ phép hằng năm."
QUESTION = "Nhân viên chính thức được nghỉ phép năm bao nhiêu ngày?"


def page(text: str, document: str, year: int) -> Passage:
    return passage(text, document=document, title="Nghỉ phép năm", created_at=datetime(year, 1, 1, tzinfo=UTC))


async def read(embedder: Embedder, *passages: Passage) -> Reading:
    wanted = {"question": QUESTION, "language": "vi", "passages": passages}
    return await PlainReader(embedder).read(ReadRequest.model_validate(wanted))


def test_the_trees_know_every_column() -> None:
    assert stored_trees("rivals").columns.max() < len(COLUMNS)
    assert np.isfinite(stored_trees("rivals").score(np.full((2, len(COLUMNS)), np.nan))).all()


AGREES = "Mỗi năm, người lao động chính thức có mười bốn ngày (14 ngày) nghỉ phép."
ELSE = "Nhân viên thử việc nhận áo đồng phục trong 14 ngày đầu."


async def test_another_value_differs_more_than_the_same_in_other_words_and_than_something_else(
    embedder: Embedder,
) -> None:
    chances = []
    for one, other in ((OLD, NEW), (NEW, AGREES), (NEW, ELSE)):
        first, second = (await read(embedder, page(one, "old", 2023), page(other, "new", 2026))).pieces
        assert first.differs == 0
        chances.append(second.differs)
    differs, agrees, elsewhere = chances
    assert differs > 2 * agrees > 0 and differs > 2 * elsewhere


async def test_one_document_is_no_rival_of_itself(embedder: Embedder) -> None:
    reading = await read(embedder, page(OLD, "same", 2026), page(NEW, "same", 2026))
    assert all(one.differs == 0 for one in reading.pieces)


async def test_a_rival_that_differs_is_held_against_the_answer_first(embedder: Embedder) -> None:
    reading = await read(embedder, page(OLD, "old", 2023), page(NEW, "new", 2026))
    [rival] = rivals_of(reading)
    assert rival.differs is (reading.pieces[1].differs >= 0.5)
    first, second = reading.pieces
    sure = reading.model_copy(update={"pieces": (first, second.model_copy(update={"differs": 0.9}))})
    assert [one.differs for one in rivals_of(sure)] == [True]
