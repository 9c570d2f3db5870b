"""Transactions that have not ended, and waiting for those that are about to."""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from penstock.api import RetriableError

from .lsn import Visibility

if TYPE_CHECKING:
    from psycopg import Connection

_PATIENCE_SECONDS = 5.0
_OLDEST = """
SELECT format('the one of pid %s (user %s, application %s), which began %s s ago', pid, usename,
              quote_literal(application_name), extract(epoch FROM now() - xact_start)::bigint)
FROM pg_stat_activity WHERE backend_xid::text::bigint = %(xid)s
UNION ALL
SELECT format('the prepared transaction %s (user %s), prepared %s s ago', quote_literal(gid), owner,
              extract(epoch FROM now() - prepared)::bigint)
FROM pg_prepared_xacts WHERE transaction::text::bigint = %(xid)s
"""


def oldest_transaction(connection: Connection[Any], xid: int) -> str:
    """A running transaction by what one needs to find and to end it, as far as the server shows that to us."""
    query = _OLDEST.replace("%s", "%%s")
    row = connection.execute(query.encode(), {"xid": xid % (1 << 32)}).fetchone()
    return str(row[0]) if row else f"number {xid}"


def wait_until_seen(connection: Connection[Any], xids: Collection[int]) -> None:
    """Wait until every new snapshot sees some transactions whose commits were read.

    The log tells of a commit a moment before others see it, and longer if standbys must confirm it first.
    """
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        row = connection.execute("SELECT pg_current_snapshot()::text").fetchone()
        assert row is not None
        now = Visibility.parse(row[0])
        unseen = [xid for xid in xids if not now.sees(xid)]
        if not unseen:
            return
        if time.monotonic() > deadline:
            raise RetriableError(f"Transaction {unseen[0]} has committed, but others do not see it yet")
        time.sleep(0.01)
