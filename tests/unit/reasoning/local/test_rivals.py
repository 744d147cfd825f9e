"""Pieces of two documents that give two values of one thing are told from those that agree or speak of another."""

from datetime import UTC, date, datetime

import numpy as np

from app.domain.knowledge import Passage
from app.embedding import Embedder
from app.reasoning.local.answer import rivals_of
from app.reasoning.local.features import Numbers, candidates_of
from app.reasoning.local.plain_reader import PlainReader, stored_trees
from app.reasoning.local.rivals import COLUMNS, figures_of
from app.reasoning.reader import Reading, ReadRequest
from tests.factories import passage

OLD = "Nhân viên chính thức được nghỉ 12 ngày phép năm hưởng nguyên lương."
NEW = "Từ năm 2026 nhân viên chính thức được hưởng 14 ngày nghỉ phép hằng năm."
QUESTION = "Nhân viên chính thức được nghỉ phép năm bao nhiêu ngày?"


def page(text: str, document: str, year: int, title: str = "Nghỉ phép năm") -> Passage:
    return passage(text, document=document, title=title, created_at=datetime(year, 1, 1, tzinfo=UTC))


async def read(embedder: Embedder, *passages: Passage, question: str = QUESTION) -> Reading:
    return await PlainReader(embedder).read(ReadRequest(question=question, language="vi", passages=passages))


async def chance(embedder: Embedder, *passages: Passage) -> float:
    """How likely the second piece gives another value than the first."""
    request = ReadRequest(question=QUESTION, language="vi", passages=passages)
    read = await PlainReader(embedder).measure(request, QUESTION, candidates_of(passages))
    return float(_chances(figures_of(read.asked, read.candidates[0], read.candidates[1:], read.tokens))[0])


def _chances(rows: Numbers) -> Numbers:
    return np.asarray(1 / (1 + np.exp(-stored_trees("rivals").score(rows))))


def test_the_trees_know_every_column() -> None:
    assert stored_trees("rivals").columns.max() < len(COLUMNS)
    assert np.isfinite(stored_trees("rivals").score(np.full((2, len(COLUMNS)), np.nan))).all()


AGREES = "Mỗi năm, người lao động chính thức có mười bốn ngày (14 ngày) nghỉ phép."
ELSE = "Nhân viên thử việc nhận áo đồng phục trong 14 ngày đầu."


async def test_another_value_differs_more_than_the_same_in_other_words_and_than_something_else(
    embedder: Embedder,
) -> None:
    differs, agrees, elsewhere = [
        await chance(embedder, page(one, "old", 2023), page(other, "new", 2026))
        for one, other in ((OLD, NEW), (NEW, AGREES), (NEW, ELSE))
    ]
    assert differs > 2 * agrees > 0 and differs > 2 * elsewhere


async def test_one_document_is_no_rival_of_itself(embedder: Embedder) -> None:
    reading = await read(embedder, page(OLD, "same", 2026), page(NEW, "same", 2026))
    assert all(one.against is None for one in reading.pieces)


async def test_a_rival_that_differs_is_held_against_the_answer_first(embedder: Embedder) -> None:
    reading = await read(embedder, page(OLD, "old", 2023), page(NEW, "new", 2026))
    first, second = (one.model_copy(update={"against": None}) for one in reading.pieces)
    for against in (None, first):
        told = reading.model_copy(update={"pieces": (first, second.model_copy(update={"against": against}))})
        assert [one.against and one.against.text for one in rivals_of(told)] == [against and first.quote]


async def test_a_rival_is_held_against_what_the_answers_document_says_elsewhere(embedder: Embedder) -> None:
    told = "Đi muộn ảnh hưởng trực tiếp đến giá trị cốt lõi Kỷ luật vì người đi muộn không làm đúng giờ đã cam kết."
    aside = "Mỗi lần đi muộn kể từ lần thứ 3 trong tháng bị khấu trừ 50.000 đồng vào phụ cấp chuyên cần."
    rival = "Không. Đi muộn không bị trừ tiền và không ảnh hưởng đến phụ cấp chuyên cần."
    rules = page(f"{told}\n\n{aside}", "new", 2026, "Quy định chấm công và đi muộn")
    handbook = page(rival, "old", 2023, "Sổ tay nhân viên").model_copy(update={"effective_from": date(2023, 6, 1)})
    reading = await read(embedder, rules, handbook, question="Đi muộn có ảnh hưởng đến giá trị nào không?")
    assert [(one.quote, one.against and one.against.quote) for one in reading.pieces[:2]] == [
        (told, None),
        (rival, aside),
    ]
