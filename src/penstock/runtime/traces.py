"""Failures as users see them in statuses: their own code first, without our frames in front."""

from __future__ import annotations

import re
import traceback
from pathlib import Path
from types import TracebackType

from penstock.spark.traces import FAILED_RECORD

from .calls import CallTimedOut

_RAISED = re.compile(r"^[A-Za-z_][\w.$]*(?:: .*)?$")
_OURS = str(Path(__file__).parent)


def trace_of(error: BaseException) -> str:
    """The traceback from where it left the runtime, or the plain text where user code is not to blame.

    Errors that stand for a Java exception begin with its name, as Kafka Connect's traces do.
    """
    if isinstance(error, CallTimedOut):
        return str(error)
    text = "".join(traceback.format_exception(type(error), error, _beyond_runtime(error.__traceback__)))
    name = getattr(error, "exception", None)
    return f"{name}: {error}\n{text}" if isinstance(name, str) else text


def headline(trace: str | None) -> str:
    """The line of a trace that says what happened: of a Python one the last, of a Java one the last cause.

    Where it tells at its end which record failed, the line does too.
    """
    lines = [line.rstrip() for line in (trace or "").strip().splitlines() if line.strip()]
    if not lines:
        return "(no trace)"
    if lines[0].startswith("Traceback"):
        raised = [line for line in lines[1:] if _RAISED.match(line) and not line.startswith("The above exception")]
        return raised[-1] if raised else lines[-1]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    record = f" (the record: {lines[-1].removeprefix(FAILED_RECORD)})" if lines[-1].startswith(FAILED_RECORD) else ""
    return (causes[-1] if causes else lines[0]) + record


def _beyond_runtime(frames: TracebackType | None) -> TracebackType | None:
    rest = frames
    while rest is not None and rest.tb_frame.f_code.co_filename.startswith(_OURS):
        rest = rest.tb_next
    return rest if rest is not None else frames
