"""The answer's text towards readers who cannot take anything back."""

WRITTEN_ANEW = "The answer was written anew after its first words were sent; ask again."


class Retold:
    """What of a run's text was sent already, over all its attempts: one that was given out again tells its text from
    the start, and only what goes on behind the old place is told."""

    def __init__(self) -> None:
        self._told, self._again = "", ""

    def begin_again(self) -> None:
        """The run was given out again."""
        self._again = ""

    def fresh(self, text: str) -> str:
        """What of a piece was not told yet."""
        self._again += text
        if len(self._again) <= len(self._told):
            return ""
        if not self._again.startswith(self._told):
            return ""  # the new attempt says it differently; its whole text comes with the end
        piece, self._told = self._again[len(self._told) :], self._again
        return piece

    def rest(self, text: str) -> str | None:
        """What is left to tell of the whole text; None when something else was told before (`WRITTEN_ANEW`)."""
        return text[len(self._told) :] if text.startswith(self._told) else None
