"""Lines of a file into a topic, and records of topics into a file."""

from .sink import FileStreamSink
from .source import FileStreamSource

__all__ = ["FileStreamSink", "FileStreamSource"]
