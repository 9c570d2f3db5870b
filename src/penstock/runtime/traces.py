"""Failures as users see them in statuses: their own code first, without our frames in front."""

from __future__ import annotations

import traceback
from pathlib import Path
from types import TracebackType

from .calls import CallTimedOut

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


def _beyond_runtime(frames: TracebackType | None) -> TracebackType | None:
    rest = frames
    while rest is not None and rest.tb_frame.f_code.co_filename.startswith(_OURS):
        rest = rest.tb_next
    return rest if rest is not None else frames
