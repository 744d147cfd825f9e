"""What a person does on the page."""

from dataclasses import dataclass

from playwright.async_api import Locator, Page, expect

ENDED = ".turn.current[data-outcome] .actions"


@dataclass(frozen=True)
class Visitor:
    """A person before a page that is open."""

    page: Page
    address: str

    @property
    def turn(self) -> Locator:
        """The last question with its answer."""
        return self.page.locator(".turn").last

    async def begin(self, question: str) -> Locator:
        """Ask, and do not wait."""
        await self.page.fill("#question", question)
        await self.page.press("#question", "Enter")
        await expect(self.turn.locator(".asked")).to_have_text(question)
        return self.turn

    async def ask(self, question: str) -> Locator:
        """Ask and wait for the end."""
        turn = await self.begin(question)
        await self.ended()
        return turn

    async def ended(self) -> None:
        """Wait until the last question is answered."""
        await self.page.wait_for_selector(ENDED)
        await expect(self.page.locator("#send")).to_be_visible()
