"""Made-up records, for demonstrations and load."""

from .source import Generator

__all__ = ["Generator"]
