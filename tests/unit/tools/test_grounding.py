"""What a summary may say, for any summary."""

from hypothesis import given
from hypothesis import strategies as st

from app.domain.knowledge import Finding
from app.reasoning.local.rendering import summarise
from app.text.language import estimated_tokens
from app.text.numbers import all_readings
from app.tools.grounding import grounded, polarity, sentences_of
from tests.factories import finding, passage

RULES = (
    "Nhân viên chính thức được nghỉ 14 ngày phép năm.",
    "Không được chuyển quá 5 ngày phép sang năm sau.",
    "Nhân viên thử việc chưa được hưởng phép năm.",
    "Mỗi lần đi muộn bị trừ 50.000 đồng, trừ khi có đơn.",
    "Tuy nhiên, quy định này không áp dụng cho ca đêm.",
    "Staff may work from home 2 days a week.",
    "Visitors must not enter the server room without a badge.",
    "Expenses above £1,500 are never paid in advance.",
    "However, managers may approve an exception of 20%.",
    "Thưởng Tết bằng 1,5 tháng lương.",
)
WORDS = [
    "được", "không", "nghỉ", "14", "5", "50.000", "ngày", "phép", "năm", "chưa", "trừ", "đồng", "not", "never", "2",
    "days", "staff", "may", "work", "enter", "room", "20%", "7", "1,5", "lương", "khi", "đơn", "chuyển", "quá",
]  # fmt: skip
sources = st.lists(st.lists(st.sampled_from(RULES), min_size=1, max_size=4, unique=True), min_size=1, max_size=4)
garbled = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map(" ".join), max_size=5).map(". ".join)
altered = st.lists(
    st.tuples(
        st.sampled_from(RULES),
        st.sampled_from(
            [("không ", ""), ("được", "không được"), ("14", "15"), ("not ", ""), ("5", "9"), ("trừ khi", "khi")]
        ),
    ).map(lambda drawn: drawn[0].replace(*drawn[1])),
    max_size=5,
).map(" ".join)
summaries = st.one_of(garbled, altered, st.lists(st.sampled_from(RULES), max_size=5).map("\n- ".join))


class TestFaithful:
    @given(sources=sources, summary=summaries, tokens=st.integers(5, 200))
    def test_every_number_stands_in_the_sources(self, sources: list[list[str]], summary: str, tokens: int) -> None:
        told = grounded(summary, sources, key_sources=[0], max_tokens=tokens)
        assert all_readings(told.text) <= all_readings("\n".join(text for texts in sources for text in texts))

    @given(sources=sources, summary=summaries, tokens=st.integers(5, 200))
    def test_every_sentence_is_negated_as_one_of_its_sources(
        self, sources: list[list[str]], summary: str, tokens: int
    ) -> None:
        told = grounded(summary, sources, key_sources=[0], max_tokens=tokens)
        for statement in told.statements:
            own = [polarity(rule) for source in statement.sources for rule in sources[source]]
            assert all(polarity(sentence) in own for sentence in sentences_of(statement.text))

    @given(sources=sources, summary=summaries, tokens=st.integers(1, 200))
    def test_never_has_more_tokens_than_allowed(self, sources: list[list[str]], summary: str, tokens: int) -> None:
        assert estimated_tokens(grounded(summary, sources, key_sources=[0, 0], max_tokens=tokens).text) <= tokens

    @given(sources=sources, summary=summaries)
    def test_says_what_it_said_once_more(self, sources: list[list[str]], summary: str) -> None:
        once = grounded(summary, sources)
        assert grounded(once.text, sources).text == once.text

    @given(sources=sources)
    def test_the_figures_of_the_surest_source_are_not_lost(self, sources: list[list[str]]) -> None:
        told = grounded("", sources, key_sources=[0])
        first = next((rule for rule in sources[0] if all_readings(rule)), "")
        assert all_readings(first) <= all_readings(told.text)

    def test_gives_the_source_where_the_summary_says_something_else(self) -> None:
        rows: list[tuple[str, str, str]] = [
            ("Không được mang đồ ăn vào.", "Được mang đồ ăn vào.", "Không được mang đồ ăn vào."),
            ("You may not smoke here.", "You may smoke here.", "You may not smoke here."),
            ("Không được chuyển phép và không được bán phép.", "Không được chuyển phép và được bán phép.",
             "Không được chuyển phép và không được bán phép."),
            ("You can't smoke here.", "You can smoke here.", "You can't smoke here."),
            ("Phạt 200.000 đồng.", "Phạt 2.000.000 đồng.", "Phạt 200.000 đồng."),
            ("Phạt 5 ngày.", "Phạt 5 triệu.", "Phạt 5 ngày."),
            ("Mức hưởng là 5.000.000 đồng.", "Mức hưởng là 5 triệu đồng.", "Mức hưởng là 5 triệu đồng."),
            ("Ai cũng được vào, trừ khách.", "Ai cũng được vào.", "Ai cũng được vào, trừ khách."),
            ("Ai cũng được vào. Tuy nhiên khách phải có thẻ.", "Ai cũng được vào.",
             "Ai cũng được vào. Tuy nhiên khách phải có thẻ."),
            ("Cấm các việc sau:\n- Hút thuốc trong phòng\n- Uống rượu", "Hút thuốc trong phòng",
             "Cấm các việc sau: Hút thuốc trong phòng"),
            ("Phòng họp ở tầng hai.", "Bể bơi mở cửa cuối tuần.", ""),
        ]  # fmt: skip
        for source, summary, text in rows:
            assert grounded(summary, [[source]]).text == text


class TestLocalSummaries:
    @given(st.lists(st.sampled_from(RULES), min_size=1, max_size=8, unique=True), st.randoms())
    def test_choose_the_same_lines_in_every_order(self, rules: list[str], random: object) -> None:
        found = [finding(passage(rule, document=rule)) for rule in rules]
        shuffled: list[Finding] = list(found)
        random.shuffle(shuffled)  # type: ignore[attr-defined]
        lines = {line.removeprefix("- ") for line in summarise("nghỉ phép", found).text.split("\n")}
        assert lines == {line.removeprefix("- ") for line in summarise("nghỉ phép", shuffled).text.split("\n")}

    @given(st.lists(st.sampled_from(RULES), min_size=1, max_size=8, unique=True), st.integers(1, 40))
    def test_stay_within_their_tokens(self, rules: list[str], times: int) -> None:
        found = [finding(passage(", ".join([rule.rstrip(".")] * times), document=rule)) for rule in rules]
        assert estimated_tokens(summarise("phép", found).text) <= 400
