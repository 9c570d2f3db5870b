"""Avro with a schema registry, as Kafka Connect's users know it."""

from __future__ import annotations

from .converter import AvroConverter

__all__ = ["AvroConverter"]
