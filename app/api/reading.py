"""Reading what an answer cites."""

from typing import Annotated

from fastapi import APIRouter, Query

from app.api.deps import Caller, TheRooms
from app.api.schemas import Problem, View
from app.domain.documents import DocumentText

router = APIRouter(tags=["documents"])


class ReadingView(View):
    """The documents of one address, the latest in force first."""

    documents: tuple[DocumentText, ...]


@router.get("/reading", summary="Read what an evidence names", responses={404: {"model": Problem}})
async def reading(
    caller: Caller, rooms: TheRooms, url: Annotated[str, Query(min_length=1, max_length=2_000)]
) -> ReadingView:
    """The text behind the `url` of an evidence (a `#page=` is no matter), as far as you may read it. Versions that are
    kept as documents of their own may share an address."""
    return ReadingView(documents=tuple(await rooms.catalogue.texts(caller, url.split("#page=")[0])))
