from app.reasoning.local.rendering import summarise
from tests.factories import finding, passage

LEAVE = finding(passage("Nhân viên chính thức được nghỉ 14 ngày phép năm hưởng nguyên lương.", document="a"))
SAME = finding(passage("Nhân viên chính thức được nghỉ phép năm 14 ngày hưởng nguyên lương.", document="b"), index=2)
OLDER = finding(passage("Nhân viên chính thức được nghỉ 12 ngày phép năm hưởng nguyên lương.", document="c"), index=3)
CARRIED = finding(passage("Không được chuyển quá 5 ngày phép năm, trừ khi đơn bị từ chối bằng văn bản.", document="d"))
NOTHING = finding(index=2)
QUERY = "Tóm tắt quy định nghỉ phép năm"


class TestSummarise:
    def test_numbers_negations_and_conditions_stay(self) -> None:
        text = summarise(QUERY, [LEAVE, CARRIED]).text
        assert "14 ngày" in text
        assert "Không được chuyển quá 5 ngày" in text
        assert "trừ khi đơn bị từ chối" in text

    def test_the_same_thing_is_said_once(self) -> None:
        summary = summarise(QUERY, [LEAVE, SAME])
        assert summary.text.count("nguyên lương") == 1
        assert len(summary.sources) == 1

    def test_like_sentences_with_another_number_are_both_kept(self) -> None:
        summary = summarise(QUERY, [LEAVE, OLDER])
        assert "14 ngày" in summary.text
        assert "12 ngày" in summary.text
        assert set(summary.sources) == {0, 1}

    def test_the_points_stand_in_the_order_of_the_findings(self) -> None:
        lines = summarise(QUERY, [CARRIED, LEAVE]).text.splitlines()
        assert [line.startswith("- ") for line in lines] == [True, True]
        assert "chuyển" in lines[0]

    def test_sources_are_the_findings_used(self) -> None:
        assert summarise(QUERY, [NOTHING, LEAVE]).sources == (1,)

    def test_nothing_found_gives_nothing_to_say(self) -> None:
        summary = summarise(QUERY, [NOTHING])
        assert (summary.text, summary.sources) == ("", ())
