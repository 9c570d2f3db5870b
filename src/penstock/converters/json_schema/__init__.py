"""JSON whose schemas, in the JSON Schema language, are in a registry."""

from __future__ import annotations

from .converter import JsonSchemaConverter

__all__ = ["JsonSchemaConverter"]
