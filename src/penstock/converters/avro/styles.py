"""The settings that change how Connect and Avro map to each other."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class AvroStyle:
    """The converter's own keys."""

    enhanced: bool = False
    scrub: bool = False
    metadata: bool = True
    optional_map_keys: bool = False
    flatten_singletons: bool = True
    ignore_default: bool = False
