"""Batches whose chain needs Spark in its middle: the records wait, Spark runs the link as a job, the records go on."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.spark import frame_links, frames
from penstock.spark.parked import Parked, Resumed
from penstock.spark.splits import Receipt, Work

if TYPE_CHECKING:
    from .pump import Pump


async def finish_parked(pump: Pump, works: Sequence[Work], receipts: list[Receipt]) -> list[Receipt]:
    """The receipts of works whose records have come to the end of their chain, or of a batch that failed."""
    parked: list[Parked] = []
    try:
        while waiting := {n: r.parked for n, r in enumerate(receipts) if r.parked is not None}:
            parked += waiting.values()
            if any(receipt.failure is not None for receipt in receipts):
                break
            resumed = await _run_link(pump, list(waiting.values()))
            again = [replace(works[n], resumed=records) for n, records in zip(waiting, resumed, strict=True)]
            for n, later in zip(waiting, await pump.dispatch_once(again), strict=True):
                receipts[n] = receipts[n].followed_by(later)
    finally:
        if parked:
            pump.services.calls.run(f"{pump.task}: discard", None, lambda: frame_links.discard(parked))
    return receipts


async def _run_link(pump: Pump, parked: Sequence[Parked]) -> list[Resumed]:
    session = pump.services.session
    what = f"{pump.task}: transform with Spark"
    running = pump.services.calls.run(what, None, lambda: frame_links.run(session(), pump.spec, parked))
    try:
        return await pump.unless_aborted(asyncio.wrap_future(running))
    except asyncio.CancelledError:
        pump.services.calls.run("cancel", None, lambda: frames.cancel(session(), pump.spec))
        raise
