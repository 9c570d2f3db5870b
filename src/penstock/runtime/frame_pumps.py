"""The loops of tasks that give or take DataFrames: a Spark job of the task's own before or after each batch."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future

from penstock.api.task import Plan
from penstock.spark import frames
from penstock.spark.splits import Receipt

from .sink_pump import SinkPump
from .source_pump import SourcePump


class FrameSourcePump(SourcePump):
    """Spark computes the task's DataFrame into files; their rows then take the usual way."""

    async def next_plan(self) -> Plan | None:
        session = self.services.session

        def load() -> Plan | None:
            return frames.plan(session(), self._source, self._offsets, self.spec)

        running = self.services.calls.run(f"{self.task}: load()", None, load)
        try:
            return await self.unless_aborted(asyncio.wrap_future(running))
        except asyncio.CancelledError:
            self.services.calls.run("cancel", None, lambda: frames.cancel(session(), self.spec))
            running.add_done_callback(self._discard_late)
            raise

    def done_with(self, plan: Plan) -> None:
        self._discard(plan)

    def _discard_late(self, late: Future[Plan | None]) -> None:
        if late.exception() is None:
            self._discard(late.result())

    def _discard(self, plan: Plan | None) -> None:
        if plan is not None:
            self.services.calls.run(f"{self.task}: discard", None, lambda: frames.discard(plan))


class FrameSinkPump(SinkPump):
    """Executors gather the converted records in files; Spark then writes them as one DataFrame."""

    async def deliver(self, receipts: Sequence[Receipt]) -> None:
        if any(receipt.failure is not None for receipt in receipts):
            return
        session = self.services.session
        began = asyncio.get_running_loop().time()
        await asyncio.wrap_future(
            self.services.calls.run(
                f"{self.task}: store()", None, lambda: frames.store(session(), self._sink, self.spec, receipts)
            )
        )
        self.metrics.add_step("put", asyncio.get_running_loop().time() - began)

    def abandon(self) -> None:
        super().abandon()
        session = self.services.session
        self.services.calls.run("cancel", None, lambda: frames.cancel(session(), self.spec))
