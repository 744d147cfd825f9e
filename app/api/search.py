"""Find passages, and read what an answer cites."""

from typing import Annotated

from fastapi import APIRouter, Query

from app.api.deps import Caller, Services, check_question
from app.api.schemas import Problem, SearchBody, View
from app.domain.documents import DocumentText, DocumentTitle
from app.domain.knowledge import SearchResult, without_page

router = APIRouter()
Address = Annotated[str, Query(min_length=1, max_length=2_000)]
_MOST_ADDRESSES = 50


class ReadingView(View):
    """The documents of one address, the latest in force first."""

    documents: tuple[DocumentText, ...]


class TitlesView(View):
    """What documents are called, the latest in force of an address first."""

    documents: tuple[DocumentTitle, ...]


@router.post("/search", summary="Find passages you may read", tags=["search"])
async def search(body: SearchBody, caller: Caller, services: Services) -> SearchResult:
    """Passages, best first, with their scores and the way they were found. Departments can only narrow."""
    check_question(body.query, services.limits)
    return await services.retriever.search(
        caller, body.query, departments=body.departments, limit=body.limit, as_of=body.as_of
    )


@router.get("/reading", summary="Read what an evidence names", tags=["documents"], responses={404: {"model": Problem}})
async def reading(caller: Caller, services: Services, url: Address) -> ReadingView:
    """The text behind the `url` of an evidence (a `#page=` is no matter), as far as you may read it. Versions that are
    kept as documents of their own may share an address."""
    return ReadingView(documents=tuple(await services.catalogue.texts(caller, without_page(url))))


@router.get("/reading/titles", summary="What the documents of evidences are called", tags=["documents"])
async def titles(
    caller: Caller, services: Services, url: Annotated[list[Address], Query(min_length=1, max_length=_MOST_ADDRESSES)]
) -> TitlesView:
    """Titles of the documents behind the `url`s of evidences, as far as you may read them; the others are left out."""
    asked = sorted({without_page(one) for one in url})
    return TitlesView(documents=tuple(await services.catalogue.titles(caller, asked)))
