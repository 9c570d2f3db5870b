"""JSON, with the schema in an envelope around each value or without schemas."""

from __future__ import annotations

from .converter import JsonConverter

__all__ = ["JsonConverter"]
