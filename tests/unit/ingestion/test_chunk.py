"""Where documents are cut, how large chunks are, and that nothing is lost or made up."""

import re
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.knowledge import ChunkDraft
from app.ingestion.chunk import SIZING, Sizing, chunk
from app.text.language import clean
from tests.cases import each_case
from tests.factories import bundled_tokens

pytestmark = pytest.mark.slow

SEED = Path(__file__).parents[3] / "seed_data"

LEAVE = """# Chính sách nghỉ phép

Áp dụng cho mọi nhân viên chính thức từ ngày 01/01/2026.

## Điều 5

### Số ngày phép

Nhân viên chính thức được 14 ngày. Nhân viên làm việc trên 5 năm được thêm 1 ngày cho mỗi 5 năm.
Quản lý trực tiếp duyệt đơn trong vòng 2 ngày làm việc; quá hạn đơn được coi là đã duyệt và ghi vào hệ thống.
Đơn gửi sau ngày 25 được tính vào kỳ lương tháng sau, trừ khi có lý do bất khả kháng được xác nhận.

### Chuyển phép

Phép còn lại được chuyển sang năm sau, tối đa 5 ngày, dùng trước 31/03.
"""


def words(texts: Sequence[str]) -> list[int]:
    """A token a word."""
    return [len(text.split()) for text in texts]


cut = partial(chunk, count_tokens=words)
apart = partial(cut, sizing=SIZING._replace(overlap=0))


def size(text: str) -> int:
    return len(text.split())


def texts(found: Sequence[ChunkDraft]) -> list[str]:
    return [piece.text for piece in found]


def sentences(number: int) -> list[str]:
    return [f"Câu số {at} nói về quy định của công ty và không được cắt đôi." for at in range(number)]


def long_table(rows: int) -> str:
    lines = [f"| Bậc {number} | {number}.000.000 đồng một tháng, trả vào ngày 5 |" for number in range(1, rows + 1)]
    return "\n".join(["Mức lương theo bậc:", "", "| Bậc | Mức lương |", "|---|---|", *lines])


class TestHeadings:
    def test_are_the_section_of_a_chunk(self) -> None:
        found = cut(LEAVE, "Chính sách nghỉ phép")
        assert [piece.section for piece in found] == ["", "Điều 5"]
        assert found[0].text == "Áp dụng cho mọi nhân viên chính thức từ ngày 01/01/2026."

    def test_include_the_first_when_it_is_not_the_title(self) -> None:
        assert cut(LEAVE, "Sổ tay")[0].section == "Chính sách nghỉ phép"

    def test_stay_in_the_text_where_small_sections_of_one_parent_are_joined(self) -> None:
        small = "## Đi lại\n\n### Tàu\n\nHạng ghế mềm.\n\n### Xe\n\nTheo hóa đơn.\n"
        assert [(piece.section, piece.text) for piece in cut(small)] == [
            ("Đi lại", "### Tàu\n\nHạng ghế mềm.\n\n### Xe\n\nTheo hóa đơn.")
        ]

    def test_of_a_part_that_stands_alone_are_its_whole_path(self) -> None:
        long = " ".join(sentences(13))
        assert [piece.section for piece in cut(f"## Đi lại\n\n### Tàu\n\n{long}\n\n### Xe\n\n{long}")] == [
            "Đi lại › Tàu",
            "Đi lại › Xe",
        ]

    def test_are_not_repeated_when_a_small_section_follows_a_text_of_its_parent(self) -> None:
        text = f"## Đi lại\n\n{' '.join(sentences(10))}\n\n### Tàu\n\nGhế mềm."
        (found,) = cut(text)
        assert (found.section, found.text) == ("Đi lại", text.removeprefix("## Đi lại\n\n"))

    def test_with_nothing_under_them_are_kept(self) -> None:
        assert texts(cut("# Sổ tay\n\n## Nghỉ lễ\n\n## Giờ làm\n\nTừ 8:00.", "Sổ tay")) == [
            "## Nghỉ lễ\n\n## Giờ làm\n\nTừ 8:00."
        ]


class TestSize:
    def test_of_parts_of_a_long_text_is_about_equal_and_sentences_are_whole(self) -> None:
        found = texts(apart(" ".join(sentences(60))))
        assert len(found) == 4
        assert all(
            re.fullmatch(r"(Câu số \d+ nói về quy định của công ty và không được cắt đôi\.\s?)+", one) for one in found
        )
        assert max(map(size, found)) <= SIZING.most
        assert max(map(size, found)) - min(map(size, found)) < 40

    def test_of_wrapped_lines_is_cut_between_sentences_too(self) -> None:
        text = re.sub(r"(.{70,80}) ", r"\1\n", " ".join(sentences(60)))
        found = texts(apart(text))
        assert len(found) == 4
        assert all(one.endswith("cắt đôi.") for one in found)
        assert "\n".join(found).split() == text.split()

    def test_of_one_long_sentence_is_cut_between_words(self) -> None:
        sentence = " ".join(f"từ{number}" for number in range(400)) + "."
        found = texts(apart(sentence))
        assert len(found) == 2
        assert " ".join(found) == sentence

    def test_leaves_room_for_title_and_headings(self) -> None:
        long = " ".join(sentences(60))
        assert max(map(size, texts(cut(long, "tên " * 300)))) <= 200
        assert 30 < max(map(size, texts(cut(long, "tên " * 3000)))) <= 64

    def test_repeats_whole_sentences_where_a_paragraph_is_cut(self) -> None:
        found = texts(cut(" ".join(sentences(60))))
        for first, second in pairwise(found):
            assert second.startswith("Câu số ")
            assert 15 <= size(second[: second.index(first[-50:]) + 50]) <= SIZING.overlap

    def test_repeats_no_paragraph(self) -> None:
        paragraphs = [" ".join(sentences(8)) for _ in range(10)]
        assert "\n\n".join(texts(cut("\n\n".join(paragraphs)))).count("Câu số 7 ") == 10

    def test_is_counted_in_tokens_of_the_model(self) -> None:
        found = texts(chunk(" ".join(sentences(60)), count_tokens=bundled))
        counted = bundled(found)
        assert max(counted) <= SIZING.most
        assert min(counted) > SIZING.most // 2


class TestTables:
    def test_are_kept_whole_while_they_fit(self) -> None:
        (found,) = cut(long_table(5))
        assert found.text == long_table(5)

    def test_repeat_their_header_when_they_are_cut(self) -> None:
        found = texts(cut(f"{long_table(80)}\n\nHết bảng."))
        bodies = [one for one in found if "| Bậc | Mức lương |\n|---|---|\n" in one]
        assert len(bodies) > 2
        assert all(one.startswith("| Bậc | Mức lương |\n|---|---|\n| Bậc") for one in bodies)
        assert max(map(size, found)) <= SIZING.most
        rows = [line for one in bodies for line in one.split("\n")[2:] if line.startswith("|")]
        assert rows == long_table(80).split("\n")[4:]

    def test_with_a_header_of_half_a_chunk_are_cut_without_repeating_it(self) -> None:
        names = " | ".join(f"cột {number}" for number in range(150))
        found = texts(cut(f"| {names} |\n|{'---|' * 150}\n" + f"| {'một | ' * 150}\n" * 5))
        assert max(map(size, found)) <= SIZING.most
        assert "".join(found).count("cột 77 ") == 1


class TestLists:
    def test_are_cut_between_items(self) -> None:
        items = [f"- Mục {number}: " + "nội dung " * 12 + "\n  - chi tiết thêm của mục này" for number in range(20)]
        found = texts(cut("Phải nộp:\n\n" + "\n".join(items)))
        assert len(found) > 1
        assert found[0].startswith("Phải nộp:\n\n- Mục 0")
        assert all(one.startswith(("Phải", "- Mục", "- chi tiết")) for one in found)

    def test_stay_with_the_line_that_announces_them(self) -> None:
        text = f"{' '.join(sentences(15))}\n\nPhải nộp:\n\n" + "\n".join(f"- giấy tờ số {at}" for at in range(25))
        assert any("Phải nộp:\n\n- giấy tờ số 0\n- giấy tờ số 1" in one for one in texts(cut(text)))

    def test_of_code_keep_their_lines(self) -> None:
        (found,) = cut("Chạy lệnh sau:\n\n```sh\n# không phải tiêu đề\nvpn --connect\n```\n")
        assert "# không phải tiêu đề\nvpn --connect" in found.text
        assert found.section == ""


class TestChunk:
    @each_case("empty", ["", " \n\n ", "\x00\u200b", "# Nghỉ phép", "---\n\n***"])
    def test_finds_nothing_in_a_text_without_words(self, empty: str) -> None:
        assert cut(empty, "Nghỉ phép") == ()

    def test_numbers_the_chunks_and_gives_the_same_again(self) -> None:
        found = cut(long_table(60) + "\n\n" + LEAVE)
        assert [piece.position for piece in found] == list(range(len(found)))
        assert cut(long_table(60) + "\n\n" + LEAVE) == found

    def test_cleans_the_text(self) -> None:
        (found,) = cut("Nghi\u0309\u200b phe\u0301p\x00\r\n14 nga\u0300y.")
        assert found.text == "Nghỉ phép\n14 ngày."

    def test_tells_the_page_a_chunk_begins_on(self) -> None:
        pages = ["## Tàu\n\n" + " ".join(sentences(20)), "", "## Xe\n\n" + " ".join(sentences(10)), "Hết."]
        text = "\n\n".join(pages)
        begins = [0, text.index("## Xe"), text.index("## Xe"), text.index("Hết.")]
        found = cut(text, pages=begins)
        assert [(piece.section, piece.page) for piece in found] == [("Tàu", 1), ("Tàu", 1), ("Xe", 3)]
        assert {piece.page for piece in cut(text)} == {None}


TINY = Sizing(most=8, small=4, tiny=2, together=6, overlap=3)
LINES = st.sampled_from(
    [
        "",
        "",
        "# a b",
        "## Ấ",
        "### c",
        "**d**",
        "Điều 1 e",
        "---",
        "```",
        "| a | b |",
        "|---|---|",
        "- f g",
        "  - h",
        "1. i",
    ]
)
PROSE = st.text(st.sampled_from("ab Ấ.\n#|-*1)`: "), max_size=60)
DOCUMENTS = st.lists(LINES | PROSE, max_size=25).map("\n".join)


class TestWhateverTheText:
    @given(DOCUMENTS)
    def test_no_word_is_lost(self, text: str) -> None:
        kept = " ".join(f"{piece.section} {piece.text}" for piece in cut(text, sizing=TINY))
        assert set(re.findall(r"\w+", clean(text))) <= set(re.findall(r"\w+", kept))

    @given(DOCUMENTS)
    def test_every_chunk_is_small_and_literal(self, text: str) -> None:
        whole = clean(text)
        for piece in cut(text, sizing=TINY):
            assert size(piece.text) <= TINY.most
            header, rule, rows = (piece.text + "\n\n").split("\n", 2)
            assert piece.text in whole or (f"{header}\n{rule}\n" in whole and rows.strip() in whole)

    @each_case(
        "text",
        [
            "từ ngữ dài, " * 10_000,
            "x" * 60_000,
            "漢字仮名交じり文。" * 2_000,
            "\n" * 100_000 + "a",
            "." + "\n" * 200_000 + ".",
            " " * 200_000 + "a",
            "# a\n\nb\n\n" * 1_500,
            "".join("  " * min(level, 300) + "- mục\n" for level in range(700)),
            "| a | b |\n|---|---|\n" + "| một hai ba | 4.000 |\n" * 3_000,
            "|" + " a |" * 3000 + "\n|" + "---|" * 3000 + "\n" + ("|" + " một |" * 3000 + "\n") * 5,
            ("# " + " #" * 98 + "x\n") * 700,
            "a" + "\u0301" * 30_000,
            "```\n" * 10_000,
        ],
        ids=lambda text: repr(text[:12]),
    )
    def test_work_is_done_in_small_steps(self, text: str) -> None:
        asked: list[int] = []

        def counted(texts: Sequence[str]) -> list[int]:
            asked.extend(map(len, texts))
            return words(texts)

        found = chunk(text, count_tokens=counted)
        assert max(asked, default=0) <= 20_000
        assert max((len(piece.text) for piece in found), default=0) <= 20_000


def bundled(texts: Sequence[str]) -> list[int]:
    """Tokens of the bundled model."""
    return [bundled_tokens(text) for text in texts]


@pytest.mark.skipif(not SEED.is_dir(), reason="no demonstration documents")
class TestOnTheDemonstrationDocuments:
    def test_every_word_is_found_again_in_chunks_the_model_can_read(self) -> None:
        for path in sorted(SEED.glob("*/*/*.md")):
            body = path.read_text("utf-8").split("---\n", 2)[2]
            found = chunk(body, count_tokens=bundled)
            kept = " ".join(f"{piece.section} {piece.text}" for piece in found)
            assert set(re.findall(r"\w+", body)) <= set(re.findall(r"\w+", kept)), path.name
            assert max(bundled(texts(found))) <= SIZING.most, path.name
