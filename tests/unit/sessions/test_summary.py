from uuid import uuid4

from hypothesis import given
from hypothesis import strategies as st

from app.domain.tasks import RememberedTurn
from app.sessions.session import MAX_GIST_CHARS, MAX_SUMMARY_CHARS, gist_of, shortened, summary_of

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=400)


def turn(question: str, gist: str = "") -> RememberedTurn:
    return RememberedTurn(task_id=uuid4(), agent="hr", question=question, gist=gist_of(gist))


class TestSummary:
    @given(st.lists(st.builds(turn, words, words), max_size=40))
    def test_is_bounded_and_tells_how_many_of_the_last_turns_are_in_it(self, turns: list[RememberedTurn]) -> None:
        summary, count = summary_of(turns)
        assert len(summary) <= MAX_SUMMARY_CHARS
        assert 0 <= count <= len(turns)
        assert summary_of(turns[len(turns) - count :])[0] == summary
        assert summary.count("\n") == max(count - 1, 0)

    def test_tells_the_last_answers_and_the_questions_before(self) -> None:
        turns = [turn(f"Câu hỏi {number}?", f"Trả lời {number}.") for number in range(8)]
        lines = summary_of(turns)[0].splitlines()
        assert lines[0] == "- Câu hỏi 0?"
        assert lines[-1] == "- Câu hỏi 7? → Trả lời 7."
        assert [("→" in line) for line in lines] == [False] * 4 + [True] * 4

    def test_forgets_the_oldest_first(self) -> None:
        turns = [turn("x" * 150 + f" {number}") for number in range(40)]
        summary, count = summary_of(turns)
        assert 0 < count < 40
        assert summary.endswith(" 39")
        assert " 0\n" not in summary

    def test_of_nothing_is_nothing(self) -> None:
        assert summary_of([]) == ("", 0)


class TestGist:
    @given(words, st.integers(10, 200))
    def test_is_one_line_of_at_most_so_many_characters(self, text: str, limit: int) -> None:
        cut = shortened(text, limit)
        assert len(cut) <= limit
        assert len(cut.splitlines()) <= 1

    def test_ends_behind_a_sentence(self) -> None:
        text = "Được nghỉ 14 ngày. " + "Cứ đủ 3 năm được cộng thêm 1 ngày. " * 20
        assert gist_of(text).endswith("1 ngày.")
        assert len(gist_of(text)) <= MAX_GIST_CHARS

    def test_leaves_out_how_the_text_was_dressed(self) -> None:
        assert gist_of("**Nghỉ phép?**\n\n- 14 ngày.\n- Chuyển 5 ngày.") == "Nghỉ phép? 14 ngày. Chuyển 5 ngày."
