import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.reasoning.local.word_problems import word_problem
from app.tools.arithmetic import calculate

SURE = [
    ("Lena had 60 stamps. She gave 15 stamps to a museum and lost 5. How many stamps does she have left?", 40),
    ("A farmer collected 24 eggs. 7 were eaten. How many eggs remained?", 17),
    ("Omar spent 12 dollars on lunch. If there were 50 dollars in his wallet initially How much money is left?", 38),
    ("There are now 45 chairs in the hall. There were 30 chairs initially. How many chairs did they put there?", 15),
    ("18 people were sitting on the bus. 9 people got on while some got off. Then there were 20 people on the bus. "
     "How many people got off?", 7),
    ("Nadia received some dollars. She spent 9 dollars and has 11 dollars left. How much money did Nadia receive?", 20),
    ("41 guests came on Monday. 28 guests came on Tuesday. How many more guests came on Monday than on Tuesday?", 13),
    ("He found 12 coins and 20 buttons. Now he has 30 buttons and 18 coins. How many more buttons than coins does he "
     "have now?", 12),
    ("There are 8 crates of fruit. Each crate has 6 ripe mangoes and 3 green mangoes. How many green mangoes are in "
     "the crates altogether?", 24),
    ("Eva read 12 pages on Friday. If she read 5 more pages on Sunday than on Friday How many pages did she read on "
     "Sunday?", 17),
    ("Each tray holds 9 jars. There are 4 trays. How many jars are there?", 36),
    ("Ida has 14 red beads. Bo has 9 red beads. How many red beads do they have in total?", 23),
]  # fmt: skip
UNSURE = [
    "Kim had 20 marbles. Her brother took 4 of her marbles. How many marbles does Kim have now?",
    "Lena had 40 stamps. She gave half of them to Ben. How many stamps does she have left?",
    "Sam bought 3 boxes with 12 pens and used 5 pens. How many pens are left?",
    "Ed had 12 more marbles than Doug. Ed lost 20 marbles. How many marbles does Doug have?",
    "Ming has 12 cookies and eats 3 cookies every day. How many cookies does she have left after 2 days?",
    "Employees get 12 days of leave and 5 days of sick leave. How many days can be carried over to next year?",
    "A company has 40 employees and hired 12 employees. How many days of leave does each get?",
    "I worked 3 hours and earned 50 dollars. How much money did I earn?",
    "A shirt costs 20 dollars and a hat costs 12 dollars. How much do I have to pay?",
    "Eva read 12 pages on Monday. She read 5 more pages on Sunday than on Friday. How many did she read on Sunday?",
    "How many days of annual leave do I get after 5 years?",
]


class TestWordProblem:
    @pytest.mark.parametrize(("text", "result"), SURE)
    def test_is_the_sum_its_verbs_tell(self, text: str, result: int) -> None:
        found = word_problem(text)
        assert found is not None
        assert calculate(found.expression).value == result

    @pytest.mark.parametrize("text", UNSURE)
    def test_is_declined_where_a_number_has_no_sure_part(self, text: str) -> None:
        assert word_problem(text) is None

    @given(st.integers(1, 999), st.integers(1, 999))
    def test_every_operand_stands_in_the_problem(self, one: int, two: int) -> None:
        found = word_problem(f"Ana has {one} plums. She bought {two} plums. How many plums does she have now?")
        assert found is not None
        assert calculate(found.expression).value == one + two
        assert found.grounds == tuple(dict.fromkeys((str(one), str(two))))

    @given(st.integers(1, 99), st.integers(100, 999))
    def test_nobody_gives_away_more_than_there_was(self, held: int, lost: int) -> None:
        assert word_problem(f"Ana had {held} plums. She lost {lost} plums. How many plums are left?") is None

    @given(st.text(max_size=100))
    def test_any_text_is_read(self, text: str) -> None:
        word_problem(f"{text} 3 plums. How many {text}")
