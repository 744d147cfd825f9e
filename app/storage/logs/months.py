"""The months log lines lie in: made ahead and as lines come in, dropped whole when they are too old."""

from datetime import datetime, timedelta

from app.storage.database import OperatorTransaction, Transaction

AHEAD = timedelta(days=10)
"""In the last days of a month the next one is made, too."""


async def make_months(tx: Transaction | OperatorTransaction, since: datetime, until: datetime) -> int:
    """Make the months from `since` to `until` that are not there; gives back how many were made.

    Call it in a short transaction of its own: it locks out everybody for its length. A month that is not made, because
    it lies too far away or somebody reads for long, is no loss: its lines are kept with others that have no month.
    """
    made: int = await tx.driver.fetchval("select make_log_months($1, $2)", since, until)
    return made


async def prune_logs(tx: OperatorTransaction, before: datetime) -> int:
    """Remove the lines of all tenants from before `before`, whole months at once; gives back how many."""
    dropped: int = await tx.driver.fetchval("select drop_log_months($1)", before)
    done = await tx.driver.execute("delete from system_logs where logged_at < $1", before)
    return dropped + int(done.rsplit(" ", 1)[1])


async def count_older(tx: OperatorTransaction, before: datetime) -> int:
    """How many lines of all tenants are from before `before`."""
    count: int = await tx.driver.fetchval("select count(*) from system_logs where logged_at < $1", before)
    return count
