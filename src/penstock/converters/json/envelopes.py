"""Values in envelopes of one schema, read as columns: what stands around the payload is the same in all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.api.batch import Column, Part
from penstock.api.record import Schema

from .reader import read_envelope
from .shape_book import ShapeBook
from .texts import Rows
from .typed_columns import typed_structs

MAX_ENVELOPES = 8
_BLANKS = b" \t\r\n"


@dataclass(slots=True)
class _Envelope:
    before: bytes
    after: bytes
    schema: Schema
    payloads: ShapeBook = field(default_factory=ShapeBook)

    def read(self, data: pa.Array, replace_null: bool) -> Iterator[Part]:
        """The payloads in this envelope that can be columns of its schema."""
        framed = pc.and_(pc.starts_with(data, self.before), pc.ends_with(data, self.after))
        longer = pc.greater(pc.binary_length(data), pa.scalar(len(self.before) + len(self.after), pa.int32()))
        rows: Rows = np.flatnonzero(pc.and_(framed, longer).fill_null(False).to_numpy(zero_copy_only=False))
        chosen = data if len(rows) == len(data) else data.take(pa.array(rows))
        for part in self.payloads.read(pc.binary_slice(chosen, len(self.before), -len(self.after))):
            structs = typed_structs(part.column.array, self.schema, replace_null)
            if structs is not None:
                yield Part(rows[part.rows], Column(structs, self.schema))


class EnvelopeBook:
    """Learns envelopes from values, and forgets the oldest. ``schema_of`` reads a schema in its JSON form."""

    def __init__(self, schema_of: Callable[[bytes], Schema | None], replace_null: bool) -> None:
        self._schema_of = schema_of
        self._replace_null = replace_null
        self._known: list[_Envelope] = []

    def read(self, data: pa.Array) -> list[Part]:
        """The values of a binary array whose payloads are structs of simple fields."""
        first = next((value for value in data[:1].to_pylist() if value is not None), None)
        if first is not None and not any(first.startswith(known.before) for known in self._known):
            self._learn(first)
        return [part for known in self._known for part in known.read(data, self._replace_null)]

    def _learn(self, text: bytes) -> None:
        members = read_envelope(text)
        if members is None or list(members) != ["schema", "payload"]:
            return
        body = text.rstrip(_BLANKS)[:-1].rstrip(_BLANKS)
        payload = bytes(members["payload"])
        schema = self._schema_of(bytes(members["schema"]))
        if schema is None or not body.endswith(payload):
            return
        envelope = _Envelope(body[: len(body) - len(payload)], text[len(body) :], schema)
        self._known = [envelope, *self._known][:MAX_ENVELOPES]
