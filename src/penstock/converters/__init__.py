"""Bytes in a topic to values in flight and back, byte for byte as Kafka Connect writes them.

Importing this package is cheap; ``CONVERTERS`` lists every class for plugin discovery.
"""

from __future__ import annotations

from penstock.api.converter import Converter, HeaderConverter

from .boolean import BooleanConverter
from .byte_array import ByteArrayConverter
from .json import JsonConverter
from .numbers import DoubleConverter, FloatConverter, IntegerConverter, LongConverter, ShortConverter
from .simple_header import SimpleHeaderConverter
from .string import StringConverter

CONVERTERS: tuple[type[Converter] | type[HeaderConverter], ...] = (
    BooleanConverter,
    ByteArrayConverter,
    DoubleConverter,
    FloatConverter,
    IntegerConverter,
    JsonConverter,
    LongConverter,
    ShortConverter,
    SimpleHeaderConverter,
    StringConverter,
)

__all__ = ["CONVERTERS", *sorted(converter.__name__ for converter in CONVERTERS)]
