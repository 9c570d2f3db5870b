"""From the start of the worker's process to its first answer, and to the first record in its output file."""

from __future__ import annotations

import time

from ..figures import Figure, median
from . import Run
from .first_record import move_first_record


def measure(run: Run) -> list[Figure]:
    answer, record = [], []
    for number in range(run.scale.starts):
        with run.fresh() as system:
            run.say(f"start {number + 1} of {run.scale.starts}")
            began = time.perf_counter()
            system.launch()
            system.wait_answer()
            answer.append(time.perf_counter() - began)
            move_first_record(system)
            record.append(time.perf_counter() - began)
    return [
        Figure("startup.answer", "process start → first answer", "s", median(answer)),
        Figure("startup.record", "process start → first record, file → topic → file", "s", median(record)),
    ]
