"""Tracebacks as text, quickly: many records fail in the same lines of code."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from types import CodeType, TracebackType

_CAUSED = "\nThe above exception was the direct cause of the following exception:\n\n"
_MEANWHILE = "\nDuring handling of the above exception, another exception occurred:\n\n"
_BARE_MODULES = ("__main__", "builtins")
_WITH_MORE = (SyntaxError, NameError, AttributeError, ImportError)
_CACHE_SIZE = 1024

_known: dict[tuple[tuple[CodeType, int], ...], str] = {}

FAILED_RECORD = "  Failed record: "
"""How the line at the end of a trace begins that tells which record a task has failed on. It is indented: who looks for
the error in a trace takes the last line that is not."""


def format_trace(error: BaseException) -> str:
    """What ``traceback.format_exception`` gives, as one text."""
    links = _chain(error)
    if any(map(_is_special, links)):
        return "".join(traceback.format_exception(error))
    return "".join([link if isinstance(link, str) else _alone(link) for link in links])


def _chain(error: BaseException) -> list[BaseException | str]:
    """The exceptions that led to this one, oldest first, and what stands between them."""
    links: list[BaseException | str] = [error]
    seen = {id(error)}
    current = error
    while True:
        earlier, between = current.__cause__, _CAUSED
        if earlier is None and not current.__suppress_context__:
            earlier, between = current.__context__, _MEANWHILE
        if earlier is None or id(earlier) in seen:
            return links[::-1]
        seen.add(id(earlier))
        links += [between, earlier]
        current = earlier


def _alone(error: BaseException) -> str:
    if error.__traceback__ is None:
        return _last_line(error)
    return f"Traceback (most recent call last):\n{_stack(error.__traceback__)}{_last_line(error)}"


def _is_special(error: BaseException | str) -> bool:
    """Whether more than the stack and the text may be printed: parts, notes, suggestions."""
    return isinstance(error, _WITH_MORE) or hasattr(error, "exceptions") or hasattr(error, "__notes__")


def _last_line(error: BaseException) -> str:
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ in _BARE_MODULES else f"{kind.__module__}.{kind.__qualname__}"
    try:
        text = str(error)
    except Exception:
        text = "<exception str() failed>"
    return f"{name}: {text}\n" if text else f"{name}\n"


def _stack(trace: TracebackType) -> str:
    """The frames of a traceback. The code and the place in it tell all that is printed of a frame."""
    key = tuple((frame.tb_frame.f_code, frame.tb_lasti) for frame in _frames(trace))
    text = _known.get(key)
    if text is None:
        if len(_known) >= _CACHE_SIZE:
            _known.clear()
        text = _known[key] = "".join(traceback.format_tb(trace))
    return text


def _frames(trace: TracebackType | None) -> Iterator[TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next
