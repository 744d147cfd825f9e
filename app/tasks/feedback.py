"""What people think of their answers."""

from uuid import UUID

from app.domain.principal import Principal
from app.journal import not_found
from app.storage import feedback
from app.storage.database import Database
from app.storage.feedback import Feedback


class FeedbackBook:
    """Feedback on own runs, one a run."""

    def __init__(self, database: Database):
        self._database = database

    async def put(self, principal: Principal, task_id: UUID, rating: int, correction: str) -> Feedback:
        """Keep it in place of what was said before. Raises `AppError` (404) for a run that is not the caller's own."""
        async with self._database.principal_scope(principal) as tx:
            kept = await feedback.put(tx, task_id, rating, correction)
        if kept is None:
            raise not_found()
        return kept
