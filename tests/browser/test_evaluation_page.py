"""The report of an evaluation as a browser shows it: on a desk, on a phone, in both colours."""

from pathlib import Path

import pytest
from playwright.async_api import Browser

from app.evaluation.page import report_page
from tests.browser.conftest import DESK, PHONE
from tests.browser.test_page import serious
from tests.unit.evaluation.runs import LEAVE, SALARY, conflict, events, report

TOO_WIDE = "document.documentElement.scrollWidth - innerWidth"


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report with right and wrong answers, one of them with a conflict and a very long word."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    weighed = [conflict(LEAVE, SALARY)]
    told = (events(), events("No. " + "x" * 300), events(confidence_score=0.4, conflicts=weighed), events("Nothing."))
    path.write_text(report_page(report(*told)), "utf-8")
    return path


class TestReport:
    @pytest.mark.parametrize("colours", ["light", "dark"])
    @pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
    async def test_fits_the_screen_and_axe_finds_nothing_serious(
        self, browser: Browser, page_file: Path, viewport: dict[str, int], colours: str
    ) -> None:
        context = await browser.new_context(viewport=viewport, color_scheme=colours)  # type: ignore[arg-type]
        page = await context.new_page()
        await page.goto(page_file.as_uri())
        await page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        assert await page.evaluate(TOO_WIDE) <= 0
        assert await serious(page) == []
        await context.close()
