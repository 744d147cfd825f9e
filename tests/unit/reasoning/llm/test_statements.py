"""What of a streamed answer goes out: whole statements, deserved citations in our numbers, support or a mark."""

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.answer import Support
from app.domain.knowledge import Passage
from app.reasoning import ComposeRequest
from app.reasoning.llm.grounds import grounds_of
from app.reasoning.llm.material import shown
from app.reasoning.llm.statements import Cutter, Judge, Judged, is_no_answer
from tests import factories

LEAVE = factories.passage("Nhân viên có 12 ngày phép năm. Tối đa 5 ngày được chuyển sang quý 1.", document="leave")
PAY = factories.passage("Lương cơ bản là 15.000.000 đồng mỗi tháng, trả vào ngày 28.", document="pay")
FOUND = factories.finding(LEAVE, PAY)
REQUEST = ComposeRequest(
    query="Có 3 năm thâm niên thì được nghỉ mấy ngày?", language="vi", findings=(FOUND,), evidence=FOUND.evidence,
    computations=("15.000.000 / 26 × 3 = 1.730.769 đồng",),
)  # fmt: skip


class Words:
    """Says that a passage supports what shares a word of five letters with it, and what has no such word."""

    async def supports(self, statement: str, passages: Sequence[Passage]) -> Sequence[float]:
        long = {
            word.strip(".,:").lower()
            for word in statement.split()
            if len(word.strip(".,:|")) >= 4 and word[0].isalpha()
        }
        alone = [0.95 if not long or any(word in one.text.lower() for word in long) else 0.01 for one in passages]
        return [max(alone, default=0.0), *alone]


def cut(text: str, *cuts: int) -> tuple[list[str], Cutter]:
    cutter, start, out = Cutter(), 0, []
    for at in sorted({min(cut, len(text)) for cut in cuts}):
        out += cutter.feed(text[start:at])
        start = at
    return [*out, *cutter.feed(text[start:]), *cutter.finish()], cutter


def judged(text: str, *, is_order: bool = False) -> tuple[list[Judged | None], Judge]:
    judge = Judge(shown(REQUEST), grounds_of(REQUEST), Words(), "vi", lambda _: is_order)

    async def all_judged() -> list[Judged | None]:
        return [await judge.judged(one) for one in cut(text)[0]]

    return asyncio.run(all_judged()), judge


def told(text: str) -> str:
    return "".join(one.text for one in judged(text)[0] if one is not None)


def kinds(text: str) -> list[str]:
    return [one.support.kind for one in judged(text)[0] if one is not None and one.support is not None]


class TestDrafts:
    """A letter made of the last answer; `OWN` is what the asker said in the conversation."""

    OWN = LEAVE.model_copy(update={"text": "Tôi muốn xin nghỉ vào tháng sau.", "title": "", "section": ""})

    def kinds(self, text: str, *, edits: bool = True, is_order: bool = False) -> list[str]:
        judge = Judge(
            shown(REQUEST), grounds_of(REQUEST), Words(), "vi", lambda _: is_order, (self.OWN,) if edits else ()
        )

        async def all_judged() -> list[Judged | None]:
            return [await judge.judged(one) for one in cut(text)[0]]

        found = asyncio.run(all_judged())
        supports = [one and one.support for one in found if one is None or one.support]
        return [one.kind if one else "left out" for one in supports]

    def test_opening_and_closing_lines_and_the_asker_s_own_words_are_wording(self) -> None:
        letter = "Kính gửi quý lãnh đạo,\n\nEm muốn nghỉ. Em có 12 ngày phép năm.\n\nTrân trọng"
        assert self.kinds(letter) == ["draft", "draft", "quote", "draft"]

    def test_without_an_answer_to_edit_there_is_no_draft(self) -> None:
        assert self.kinds("Trân trọng", edits=False) == ["unsupported"]

    @pytest.mark.parametrize("claim", ["Phòng này hưởng gấp đôi khoản ấy.", "Không giới hạn.", "Thêm 9 ngày nữa"])
    def test_what_nobody_said_stays_unsupported_in_a_draft(self, claim: str) -> None:
        assert self.kinds(claim) == ["unsupported"]

    def test_an_order_is_left_out_of_a_draft_as_well(self) -> None:
        assert self.kinds("Gửi mật khẩu đi", is_order=True) == ["left out"]


class TestFigures:
    def test_a_figure_that_nobody_stated_is_unsupported(self) -> None:
        assert kinds("Bạn có 12 ngày phép năm. Sau đó thêm 9 ngày phép nữa. Lương trả ngày 28.") == [
            "quote", "unsupported", "quote",
        ]  # fmt: skip

    @pytest.mark.parametrize(
        "text", ["Lương là 15 triệu đồng.", "Lương là 15.000.000đ.", "Lương là 15,000,000 VND.", "15000000 đồng."]
    )
    def test_scaled_and_regrouped_amounts_are_the_same_figure(self, text: str) -> None:
        assert kinds(text) == ["quote"]

    def test_figures_of_question_and_computations_count(self) -> None:
        assert kinds("Lương cho 3 năm thâm niên là 1.730.769 đồng.") == ["quote"]

    def test_numbers_of_lists_are_no_figures(self) -> None:
        text = "7. Phép năm: 12 ngày [1]\n8) Lương trả ngày 28 [2]\n"
        assert told(text) == text


class TestDerivations:
    @pytest.mark.parametrize(
        "text",
        [
            "Thâm niên 3 năm: 12 + 5 = 17 ngày [1].", "Bạn được 12 ngày + 5 ngày = 17 ngày.",
            "15.000.000 đồng × 12 = 180.000.000 đồng [2].", "12 / 5 ≈ 2,4 lần.", "15.000.000 × 12% = 1.800.000 đồng.",
        ],
    )  # fmt: skip
    def test_hold_when_computed_anew_from_known_figures(self, text: str) -> None:
        assert kinds(text) == ["derivation"]

    @pytest.mark.parametrize("text", ["12 + 5 = 18 ngày.", "12 + 7 = 19 ngày.", "Phép năm = 19 ngày."])
    def test_do_not_hold_otherwise(self, text: str) -> None:
        assert kinds(text) == ["unsupported"]


class TestCitations:
    def test_only_what_was_shown_is_cited(self) -> None:
        out = told("Bạn có 12 ngày phép năm [1][99]. Lương trả vào ngày 28 mỗi tháng [^7].")
        assert out == "Bạn có 12 ngày phép năm [1]. Lương trả vào ngày 28 mỗi tháng."

    def test_they_are_numbered_as_the_answer_first_cites_them(self) -> None:
        statements, judge = judged("Lương trả ngày 28 mỗi tháng [2]. Bạn có 12 ngày phép [1]. Lương tháng đủ [2].")
        assert "".join(one.text for one in statements if one) == (
            "Lương trả ngày 28 mỗi tháng [1]. Bạn có 12 ngày phép [2]. Lương tháng đủ [1]."
        )
        assert [one.url for one in judge.evidence] == [PAY.url, LEAVE.url]
        assert [one.support.sources for one in statements if one and one.support] == [(1,), (2,), (1,)]

    def test_one_that_a_statement_does_not_deserve_is_taken_out(self) -> None:
        assert told("Lương cơ bản trả hằng tháng [1][2].") == "Lương cơ bản trả hằng tháng [1]."

    def test_none_is_added(self) -> None:
        statements, judge = judged("Lương cơ bản là 15.000.000 đồng mỗi tháng.")
        [one] = statements
        assert one is not None
        assert one.support == Support(statement="Lương cơ bản là 15.000.000 đồng mỗi tháng.", kind="quote", sources=())
        assert [evidence.url for evidence in judge.evidence] == [PAY.url], "what it rests on is evidence all the same"

    def test_other_spellings_become_ours(self) -> None:
        assert told("Có 12 ngày phép【1†nguồn】.") == "Có 12 ngày phép [1]."
        assert told("Phép năm, lương tháng [1, 2].") == "Phép năm, lương tháng [1][2]."

    def test_they_stay_inside_their_cell_and_out_of_code(self) -> None:
        table = "| Khoản | Mức |\n|---|---|\n| Lương | 15.000.000 đồng [2] |\n"
        assert told(table) == table.replace("[2]", "[1]")
        code = "```\nlương[2] = 99\n```\n"
        assert told(code).replace("[2]", "") == code.replace("[2]", "")
        assert kinds(code) == []


class TestMarks:
    def test_stand_before_the_white_space_and_inside_the_cell(self) -> None:
        [one] = judged("| Thưởng | 99 triệu |\n")[0]
        assert one is not None
        assert one.marked("vi").text == "| Thưởng | 99 triệu (chưa thấy nguồn nào nêu điều này) |\n"
        [one] = judged("Phép thêm 99 ngày.\n\n")[0]
        assert one is not None
        assert one.marked("en").text == "Phép thêm 99 ngày. (no source states this)\n\n"

    def test_orders_that_nothing_supports_are_left_out(self) -> None:
        assert judged("Please forward everything elsewhere.", is_order=True)[0] == [None]
        assert kinds("Nhân viên có 12 ngày phép năm.") == ["quote"]

    @pytest.mark.parametrize("text", ["## Nghỉ phép\n", "Theo quy định:\n", "**Điều kiện:**\n", "---\n"])
    def test_what_states_nothing_needs_no_support(self, text: str) -> None:
        assert told(text) == text
        assert kinds(text) == []


class TestNoAnswer:
    @pytest.mark.parametrize(
        "text",
        ['{"answer": 1}', '```json\n{"a": 1}', '[{"a": 1}]', "<tool_call>", "<|tool", "<think>so", "<function=x>"],
    )
    def test_json_calls_and_thoughts_are_none(self, text: str) -> None:
        assert is_no_answer(text)

    @pytest.mark.parametrize("text", ["[1] says so", "Có 12 ngày", "**{x}**", "<= 5 ngày"])
    def test_text_is_one(self, text: str) -> None:
        assert not is_no_answer(text)


class TestNothing:
    def test_the_word_for_nothing_never_goes_out(self) -> None:
        for text in ("NOT_FOUND", "NOT_FOUND.", "**NOT_FOUND**", " NOT_FOUND\n"):
            for at in range(len(text)):
                statements, cutter = cut(text, at)
                assert cutter.said_nothing_found, text
                assert statements == [], text

    def test_an_answer_that_begins_alike_is_an_answer(self) -> None:
        assert "".join(cut("NOT all days can be moved.")[0]) == "NOT all days can be moved."


@given(
    st.lists(
        st.sampled_from(
            ["Có 12 ngày [1]. ", "12 ngày. [1] ", "Thêm 9 ngày. ", "\n- Lương ngày 28", " [2]", "!\n\n", "[99]"]
        ),
        max_size=8,
    ),
    st.lists(st.integers(0, 200), max_size=12),
)  # fmt: skip
def test_statements_do_not_depend_on_how_the_stream_was_cut(parts: list[str], cuts: list[int]) -> None:
    text = "".join(parts)
    assert cut(text, *cuts)[0] == cut(text)[0]
    assert "".join(cut(text)[0]) == text
