"""Whatever Spark can read into a topic, and topics into whatever Spark can write."""

from .sink import SparkSink
from .source import SparkSource

__all__ = ["SparkSink", "SparkSource"]
