"""Retrieval alone."""

from fastapi import APIRouter

from app.api.deps import Caller, Services, check_question
from app.api.schemas import SearchBody
from app.domain.knowledge import SearchResult

router = APIRouter(tags=["search"])


@router.post("/search", summary="Find passages you may read")
async def search(body: SearchBody, caller: Caller, services: Services) -> SearchResult:
    """Passages, best first, with their scores and the way they were found. Departments can only narrow."""
    check_question(body.query, services.limits)
    return await services.retriever.search(
        caller, body.query, departments=body.departments, limit=body.limit, as_of=body.as_of
    )
