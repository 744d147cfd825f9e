"""Where documents may be cut, and where not."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.ingestion.blocks import sentences
from app.ingestion.chunk import MAX_WORDS, chunk

SEED = Path(__file__).parents[3] / "seed_data"

LEAVE = """# Chính sách nghỉ phép

Áp dụng cho mọi nhân viên chính thức từ ngày 01/01/2026.

## Điều 5

### Số ngày phép

Nhân viên chính thức được 14 ngày. Nhân viên làm việc trên 5 năm được thêm 1 ngày cho mỗi 5 năm.
Quản lý trực tiếp duyệt đơn trong vòng 2 ngày làm việc; quá hạn đơn được coi là đã duyệt và ghi vào hệ thống.

### Chuyển phép

Phép còn lại được chuyển sang năm sau, tối đa 5 ngày, dùng trước 31/03.
"""


def words(text: str) -> int:
    return len(text.split())


def long_table(rows: int) -> str:
    lines = [f"| Bậc {number} | {number}.000.000 đồng một tháng, trả vào ngày 5 |" for number in range(1, rows + 1)]
    return "\n".join(["Mức lương theo bậc:", "", "| Bậc | Mức lương |", "|---|---|", *lines])


class TestChunk:
    def test_follows_the_headings(self) -> None:
        found = chunk(LEAVE, "Chính sách nghỉ phép")
        assert [piece.section for piece in found] == ["", "Điều 5"]
        assert found[0].text == "Áp dụng cho mọi nhân viên chính thức từ ngày 01/01/2026."

    def test_keeps_the_first_heading_when_it_is_not_the_title(self) -> None:
        assert chunk(LEAVE, "Sổ tay")[0].section == "Chính sách nghỉ phép"

    def test_joins_small_sections_of_one_parent_and_keeps_their_headings_as_lines(self) -> None:
        small = "## Đi lại\n\n### Tàu\n\nHạng ghế mềm.\n\n### Xe\n\nTheo hóa đơn.\n"
        assert [(piece.section, piece.text) for piece in chunk(small)] == [
            ("Đi lại", "Tàu\n\nHạng ghế mềm.\n\nXe\n\nTheo hóa đơn.")
        ]

    def test_cuts_long_text_between_sentences_into_parts_of_equal_size(self) -> None:
        line = "Câu số {} nói về quy định của công ty và không được cắt đôi."
        found = chunk("\n".join(line.format(number) for number in range(40)))
        assert len(found) == 4
        for piece in found:
            assert words(piece.text) <= MAX_WORDS
            assert re.fullmatch(r"(Câu số \d+ nói về quy định của công ty và không được cắt đôi\.\s?)+", piece.text)
        assert max(words(piece.text) for piece in found) - min(words(piece.text) for piece in found) < 40

    def test_never_cuts_one_long_sentence(self) -> None:
        sentence = " ".join(f"từ{number}" for number in range(400)) + "."
        assert [piece.text for piece in chunk(sentence)] == [sentence]

    def test_keeps_a_table_whole_while_it_fits(self) -> None:
        (found,) = chunk(long_table(5))
        assert found.text.startswith("Mức lương theo bậc:\n| Bậc | Mức lương |\n|---|---|\n| Bậc 1 |")
        assert found.text.count("\n|") == 7

    def test_repeats_the_header_when_a_table_must_be_split(self) -> None:
        found = chunk(long_table(40))
        assert len(found) > 1
        for piece in found:
            assert piece.text.startswith("Mức lương theo bậc:\n| Bậc | Mức lương |\n|---|---|\n")
            assert all(line.endswith("|") for line in piece.text.split("\n")[1:])
        rows = [line for piece in found for line in piece.text.split("\n")[3:]]
        assert rows == long_table(40).split("\n")[4:]

    def test_cuts_lists_between_items_and_repeats_what_introduces_them(self) -> None:
        items = [f"- Mục {number}: " + "nội dung " * 12 + "\n  - chi tiết thêm của mục này" for number in range(20)]
        found = chunk("Phải nộp:\n\n" + "\n".join(items))
        assert len(found) > 1
        for piece in found:
            assert piece.text.startswith("Phải nộp:\n- Mục")
            assert piece.text.endswith("chi tiết thêm của mục này")

    def test_leaves_code_alone(self) -> None:
        (found,) = chunk("Chạy lệnh sau:\n\n```sh\n# không phải tiêu đề\nvpn --connect\n```\n")
        assert "# không phải tiêu đề\nvpn --connect" in found.text
        assert found.section == ""

    @pytest.mark.parametrize(
        "heading", ["Điều 5. Chuyển phép", "Chương II", "Article 7 Confidentiality", "**Phạm vi**"]
    )
    def test_sees_headings_without_markup(self, heading: str) -> None:
        (found,) = chunk(f"{heading}\n\nNội dung của phần này.")
        assert (found.section, found.text) == (heading.strip("*"), "Nội dung của phần này.")

    def test_takes_a_legal_sentence_for_text(self) -> None:
        (found,) = chunk("Điều 5 của hợp đồng vẫn còn hiệu lực.\n\nNội dung khác.")
        assert found.section == ""

    @pytest.mark.parametrize("empty", ["", " \n\n ", "\x00\u200b", "# Nghỉ phép", "---\n\n***"])
    def test_finds_nothing_in_a_text_without_words(self, empty: str) -> None:
        assert chunk(empty, "Nghỉ phép") == ()

    def test_keeps_a_heading_with_nothing_under_it(self) -> None:
        assert [piece.text for piece in chunk("# Sổ tay\n\n## Nghỉ lễ\n\n## Giờ làm\n\nTừ 8:00.", "Sổ tay")] == [
            "Nghỉ lễ\n\nGiờ làm\n\nTừ 8:00."
        ]

    def test_numbers_the_chunks_and_gives_the_same_again(self) -> None:
        found = chunk(long_table(60) + "\n\n" + LEAVE)
        assert [piece.position for piece in found] == list(range(len(found)))
        assert chunk(long_table(60) + "\n\n" + LEAVE) == found

    @given(st.text(st.sampled_from("ab Ấ.\n#|-*1)`: "), max_size=200))
    def test_loses_no_word_whatever_the_markup(self, text: str) -> None:
        kept = " ".join(f"{piece.section} {piece.text}" for piece in chunk(text))
        assert set(re.findall(r"[abẤ]+", text)) <= set(re.findall(r"[abẤ]+", kept))


@pytest.mark.skipif(not SEED.is_dir(), reason="no demonstration documents")
class TestOnTheDemonstrationDocuments:
    def test_every_line_is_found_again(self) -> None:
        for path in sorted(SEED.glob("*/*/*.md")):
            body = path.read_text("utf-8").split("---\n", 2)[2]
            kept = " ".join(f"{piece.section} {piece.text}" for piece in chunk(body)).split()
            lost = set(re.findall(r"\w+", body)) - set(re.findall(r"\w+", " ".join(kept)))
            assert not lost, path.name
            assert max(words(piece.text) for piece in chunk(body)) <= MAX_WORDS * 1.2


class TestSentences:
    def test_end_at_full_stops(self) -> None:
        text = "Được 14 ngày. Nộp trước 31/03! Còn gì nữa? Không."
        assert sentences(text) == ("Được 14 ngày.", "Nộp trước 31/03!", "Còn gì nữa?", "Không.")

    @pytest.mark.parametrize(
        "text",
        [
            "Văn phòng TP. Hồ Chí Minh mở cửa lúc 8:00.",
            "Ông Nguyễn V. An ký ngày 1.1.2026.",
            "Mức 1.500.000 đồng áp dụng từ ngày 5.",
            "Ask Dr. Smith or Ms. Jones.",
        ],
    )
    def test_do_not_end_inside_names_and_numbers(self, text: str) -> None:
        assert sentences(text) == (text,)
