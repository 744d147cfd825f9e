"""Headings and tables as places in a text."""

from app.ingestion.sections import read_sections, read_tables
from tests.cases import each_case


def outline(text: str, title: str = "") -> list[tuple[str, str]]:
    """(path, text) of each section."""
    return [
        ("/".join(heading.name for heading in section.path), text[section.start : section.end].strip())
        for section in read_sections(text, title)
    ]


class TestReadSections:
    def test_gives_the_text_under_each_heading_with_all_headings_above_it(self) -> None:
        text = "Mở đầu.\n\n# Sổ tay\n\n## Nghỉ phép ##\nMột.\n### Chuyển phép\n\nHai.\n## Lương\n\nBa."
        assert outline(text) == [
            ("", "Mở đầu."),
            ("Sổ tay/Nghỉ phép", "Một."),
            ("Sổ tay/Nghỉ phép/Chuyển phép", "Hai."),
            ("Sổ tay/Lương", "Ba."),
        ]

    def test_takes_the_title_for_no_heading(self) -> None:
        assert outline("# Sổ tay\n\nMột.", "sổ tay") == [("", "Một.")]
        assert outline("# Sổ tay\n\nMột.", "Khác") == [("Sổ tay", "Một.")]

    def test_says_where_a_heading_begins(self) -> None:
        text = "Mở đầu.\n\n## Nghỉ phép\n\nMột."
        *_, section = read_sections(text)
        assert text[section.path[0].start :].startswith("## Nghỉ phép")

    @each_case(
        ("heading", "name"),
        [
            ("Điều 5. Chuyển phép", "Điều 5. Chuyển phép"),
            ("Chương II", "Chương II"),
            ("Article 7 Confidentiality", "Article 7 Confidentiality"),
            ("**Phạm vi**", "Phạm vi"),
            ("__Phạm vi__:", "Phạm vi"),
            ("Nghỉ phép\n=========", "Nghỉ phép"),
            ("Nghỉ phép\n---", "Nghỉ phép"),
        ],
    )
    def test_sees_headings_without_hashes(self, heading: str, name: str) -> None:
        assert outline(f"Trước.\n\n{heading}\n\nNội dung.") == [("", "Trước."), (name, "Nội dung.")]

    @each_case(
        "line",
        [
            "Điều 5 của hợp đồng vẫn còn hiệu lực.",
            "# " + "dài " * 60,
            "#nhãn",
            "```\n# chú thích\n```",
            "| **Bảng** |",
            "Câu này\n**đậm** ở giữa",
            "1. Bước một\n---",
            "##",
            "…\n---",
        ],
    )
    def test_takes_other_lines_for_text(self, line: str) -> None:
        assert [path for path, _ in outline(f"{line}\n\nNội dung khác.")] == [""]

    def test_gives_a_heading_with_nothing_under_it_as_text(self) -> None:
        text = "# Sổ tay\n\n## Nghỉ lễ\n\n## Giờ làm\n\nTừ 8:00.\n\n## Hết"
        assert outline(text) == [("Sổ tay", "## Nghỉ lễ"), ("Sổ tay/Giờ làm", "Từ 8:00."), ("Sổ tay", "## Hết")]


class TestReadTables:
    def test_tells_header_and_rows_apart(self) -> None:
        text = "Trước.\n\n| Bậc | Lương |\n|:---|---:|\n| 1 | 5 |\n| 2 | 6 |\n\nGiữa | hai\n\na | b\n- | -\n1 | 2"
        found = list(read_tables(text, 0, len(text)))
        assert [(text[table.start : table.rows], text[table.rows : table.end]) for table in found] == [
            ("| Bậc | Lương |\n|:---|---:|\n", "| 1 | 5 |\n| 2 | 6 |"),
            ("a | b\n- | -\n", "1 | 2"),
        ]

    def test_stays_inside_the_section(self) -> None:
        text = "| a |\n|---|\n| 1 |\n| 2 |\n"
        assert [text[table.rows : table.end] for table in read_tables(text, 0, 18)] == ["| 1 |"]

    @each_case("text", ["a | b\nc | d", "| a |\n| x |\n| - |", "|---|\n| a |"])
    def test_needs_a_rule_below_the_header(self, text: str) -> None:
        assert [table for table in read_tables(text, 0, len(text)) if table.rows <= 8] == []
