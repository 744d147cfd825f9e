"""How the service did: the figures of many runs."""

from datetime import UTC, datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import AfterValidator, AwareDatetime

from app.api.deps import Caller, TheRooms
from app.api.schemas import Problem
from app.tasks.reviews import Picture

router = APIRouter(prefix="/performance", tags=["performance"])
_DAYS = 30
_YEARS = range(2000, 3000)


def _in_range(moment: datetime) -> datetime:
    if moment.year not in _YEARS:
        raise ValueError(f"the year must lie from {_YEARS.start} to {_YEARS.stop - 1}")
    return moment.astimezone(UTC)


Since = Annotated[AwareDatetime, AfterValidator(_in_range)]


@router.get("", summary="Performance metrics of many runs", responses={422: {"model": Problem}})
async def performance(
    caller: Caller,
    rooms: TheRooms,
    since: Annotated[Since | None, Query(description="With its time zone; 30 days ago when left out")] = None,
) -> Picture:
    """Your own runs that ended since then; for an administrator the whole tenant's. Times are means over the runs,
    calls are sums, qualities the most frequent ones."""
    return await rooms.performance.picture(caller, since or rooms.now() - timedelta(days=_DAYS))
