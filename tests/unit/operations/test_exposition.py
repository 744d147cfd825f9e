"""The text Prometheus reads: one sample a line, labels escaped, buckets cumulative, series bounded."""

import re

from hypothesis import given
from hypothesis import strategies as st

from app.operations.exposition import MOST_SERIES, SECONDS, Counter, Gauge, Histogram

SAMPLE = re.compile(r'[a-z_]+(\{(?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*\})? (?:[+-]Inf|-?\d+(?:\.\d+)?(?:e-?\d+)?)')


class TestSamples:
    @given(st.text(), st.floats(min_value=0, max_value=1e12))
    def test_are_one_line_each_whatever_a_label_holds(self, label: str, amount: float) -> None:
        counter, gauge, histogram = Counter("c", "C.", ("a",)), Gauge("g", "G.", ("a",)), Histogram("h", "H.", ("a",))
        counter.add(label, by=amount)
        gauge.set(label, to=amount)
        histogram.observe(label, seconds=amount)
        for figure in (counter, gauge, histogram):
            for line in figure.lines():
                assert line.startswith("# ") or SAMPLE.fullmatch(line), line

    @given(st.lists(st.floats(min_value=0, max_value=200), min_size=1))
    def test_of_a_histogram_count_everything_below_their_bound(self, seen: list[float]) -> None:
        histogram = Histogram("h", "H.")
        for one in seen:
            histogram.observe(seconds=one)
        told = dict(line.rsplit(" ", 1) for line in histogram.samples())
        for bound in SECONDS:
            name = f"{bound:g}"
            assert int(told[f'h_bucket{{le="{name}"}}']) == sum(one <= bound for one in seen)
        assert int(told['h_bucket{le="+Inf"}']) == int(told["h_count"]) == len(seen)

    def test_stay_bounded_however_many_labels_come(self) -> None:
        counter = Counter("c", "C.", ("a", "b"))
        for number in range(MOST_SERIES + 100):
            counter.add("one", str(number))
        lines = list(counter.samples())
        assert len(lines) == MOST_SERIES + 1
        assert 'c{a="other",b="other"} 100' in lines

    def test_of_a_sum_begin_at_nought_and_a_gauge_forgets_what_is_gone(self) -> None:
        assert list(Counter("c", "C.").samples()) == ["c 0"]
        gauge = Gauge("g", "G.", ("a",))
        gauge.set("x", to=2.5)
        assert list(gauge.samples()) == ['g{a="x"} 2.5']
        gauge.clear()
        assert list(gauge.samples()) == []
