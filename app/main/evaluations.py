"""The evaluations of this machine before administrators: the shelf with the people of their tenant."""

from collections.abc import Sequence
from pathlib import Path

from app.domain.evaluations import KeptRun
from app.domain.principal import Principal
from app.evaluation.shelf import SHELF_FOLDER, Shelf, Viewer
from app.tasks.oversight import Oversight


class KeptEvaluations:
    """What `conclave eval run` left in the data folder; every method reads files."""

    def __init__(self, data_dir: Path, oversight: Oversight):
        self._shelf, self._oversight = Shelf(data_dir / SHELF_FOLDER), oversight
        self.page_style_hash = self._shelf.page_style_hash

    async def runs(self, principal: Principal) -> Sequence[KeptRun]:
        """See `Shelf.runs`."""
        return await self._shelf.runs(principal)

    async def page(self, principal: Principal, run_id: str, before: str | None) -> str:
        """See `Shelf.page`."""
        people = {one.name: one.principal() for one in await self._oversight.people(principal)}
        return await self._shelf.page(Viewer(principal, people), run_id, before)
