"""Records into the worker's log."""

from .sink import LogSink

__all__ = ["LogSink"]
