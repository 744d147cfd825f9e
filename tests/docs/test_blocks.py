"""No block that looks as if it could be run stands in the pages unproved and unexplained."""

import re
from pathlib import Path

from tests.cases import each_case
from tests.docs.blocks import PAGES, ROOT, RUNNABLE, blocks_of, name_of
from tests.docs.running import FOLLOWED_ELSEWHERE

README = ROOT / "README.md"
README_REASONS = {
    "make run": "tests/api/test_process.py starts the same server; tests/unit/test_docs.py runs `make ask`",
    "export CONCLAVE_LLM_BASE_URL": "it needs a model; tests/acceptance/test_language_model.py brings one",
}


class TestVietnamesePages:
    @each_case("page", [page for page in PAGES if "vi" in page.parts])
    def test_show_the_commands_and_files_of_the_english_ones(self, page: Path) -> None:
        english = page.parents[1] / page.name
        assert blocks_of(page) == blocks_of(english)
        assert f"](../{page.name})" in page.read_text("utf-8") and f"](vi/{page.name})" in english.read_text("utf-8")


class TestBlocks:
    @each_case("page", PAGES, ids=[name_of(page) for page in PAGES])
    def test_every_fence_is_read(self, page: Path) -> None:
        fences = re.findall(r"^ *```(\w+)$", page.read_text("utf-8"), re.MULTILINE)
        assert [block.kind for block in blocks_of(page)] == fences

    def test_a_page_followed_elsewhere_is_read_there(self) -> None:
        for page, test in FOLLOWED_ELSEWHERE.items():
            assert page.removeprefix("docs/") in (ROOT / test).read_text("utf-8")

    def test_reasons_name_tests_that_exist(self) -> None:
        told = [why for page in PAGES for block in blocks_of(page) for why in block.said("not run here")]
        named = re.findall(r"tests/[\w/]+\.py", " ".join([*told, *README_REASONS.values()]))
        assert named and all((ROOT / test).exists() for test in named)

    def test_the_readme_says_nothing_else_than_what_is_proved(self) -> None:
        runnable = [block for block in blocks_of(README) if block.kind in RUNNABLE]
        firsts = [block.text.splitlines()[0] for block in runnable]
        assert all(any(first.startswith(known) for known in README_REASONS) for first in firsts)
