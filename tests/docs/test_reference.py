"""What is made from the code says what the code says now."""

import re
from typing import get_args

import pytest

from app.errors import ErrorCode
from app.events import Event
from app.flow.deep.graph import build_deep_graph
from app.settings import Settings
from reference import docstrings, http, pages
from reference.drawing import Drawing
from tests.docs.blocks import ROOT

DOCS = ROOT / "docs"


class TestMadePages:
    @pytest.mark.parametrize("name", pages.names())
    def test_is_what_the_code_says(self, name: str) -> None:
        assert (DOCS / name).exists(), "make reference"
        assert (DOCS / name).read_text("utf-8") == pages.written(name), "it differs from the code: make reference"

    def test_nothing_else_lies_among_them(self) -> None:
        lying = {
            path.relative_to(DOCS).as_posix()
            for folder in ("reference", "pictures")
            for path in (DOCS / folder).iterdir()
        }
        assert lying == set(pages.names())

    def test_writing_again_writes_nothing(self) -> None:
        assert pages.differing(DOCS) == []

    def test_the_environment_changes_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CONCLAVE_MAX_BODY_BYTES", "4096")
        monkeypatch.setenv("CONCLAVE_DATA_DIR", "/elsewhere")
        http.description.cache_clear()
        pages.written.cache_clear()
        assert pages.differing(DOCS) == []


class TestMeanings:
    def test_every_setting_says_what_it_means(self) -> None:
        assert set(Settings.model_fields) <= set(docstrings.of_attributes(Settings))

    def test_every_code_says_what_to_do(self) -> None:
        assert {one.name for one in ErrorCode} == set(docstrings.of_attributes(ErrorCode))

    def test_every_event_has_its_part(self) -> None:
        text = (DOCS / "reference" / "events.md").read_text("utf-8")
        kinds = {one.model_fields["type"].default for one in get_args(get_args(Event)[0])}
        assert set(re.findall(r"^## `(\w+)`$", text, re.MULTILINE)) == kinds


class TestPictures:
    def test_the_arrows_of_the_deep_flow_are_those_of_the_compiled_graph(self) -> None:
        drawn = (DOCS / "pictures" / "deep.svg").read_text("utf-8")
        arrows = re.findall(r'<path class="line( dashed)?" data-arrow="(\w+) (\w+)"', drawn)
        compiled = build_deep_graph().get_graph()
        assert {(a, b, bool(dashed)) for dashed, a, b in arrows} == {
            (edge.source, edge.target, edge.conditional) for edge in compiled.edges
        }

    def test_text_that_does_not_fit_its_box_is_refused(self) -> None:
        with pytest.raises(ValueError, match="needs"):
            Drawing(100, 100, "").box("small", 0, 0, 60, "much too long for it")
