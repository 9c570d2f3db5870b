"""PostgreSQL: changes of tables into topics, and records of topics into tables."""

from .sink import PostgresSink
from .source import PostgresCdc

__all__ = ["PostgresCdc", "PostgresSink"]
