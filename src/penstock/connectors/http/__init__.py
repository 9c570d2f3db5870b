"""HTTP services as sources and sinks."""

from .sink import HttpSink
from .source import HttpSource

__all__ = ["HttpSink", "HttpSource"]
