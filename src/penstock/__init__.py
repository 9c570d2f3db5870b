"""Penstock: a connector runtime for Python, with the data moved by Spark."""

__version__ = "0.1.0"
