"""From Avro's binary form to Connect values, by a function made for the writer's and the reader's schema."""

from __future__ import annotations

import struct
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, NoReturn

from penstock.api.errors import DataError
from penstock.api.logical import (
    DATE_NAME,
    DECIMAL_NAME,
    TIME_NAME,
    TIMESTAMP_NAME,
    date_from_days,
    decimal_from_bytes,
    from_millis,
    time_from_millis,
)
from penstock.api.record import NO_DEFAULT, FrozenKey, Schema, SchemaType

from . import names
from .anything import read_anything
from .codegen import Emitter
from .resolution import matches, reader_branch, writer_field
from .schema import AvroType
from .styles import AvroStyle
from .to_connect import default_value, is_map_entry, optional_branch, union_member

Read = Callable[[bytes], Any]

_CONVERSIONS: dict[str | None, tuple[str, Callable[[int], Any]]] = {
    DATE_NAME: ("date", date_from_days),
    TIME_NAME: ("time", time_from_millis),
    TIMESTAMP_NAME: ("moment", from_millis),
}
_BITS = {SchemaType.INT8: 8, SchemaType.INT16: 16}


def avro_reader(writer: AvroType, reader: AvroType, schema: Schema | None, style: AvroStyle, start: int = 0) -> Read:
    """A function from bytes, whose data begins at ``start``, to a value of ``schema``, the Connect form of ``reader``.

    Raises :class:`DataError` at once when what ``writer`` wrote cannot be read as ``reader``.
    """
    code = _ReaderCode(style)
    emit = code.emit
    with emit.function("read(b)"):
        with emit.block("try:"):
            emit.line(f"i = {start}")
            if writer.kind == "bytes" and schema is not None:
                emit.line("x = b[i:]")
                code.bytes_value(reader, schema, "x")
            else:
                code.value(writer, reader, schema, "x", inline=True)
            emit.line("if i > len(b): too_short(b)")
        emit.line("except (IndexError, struct_error): too_short(b)")
        emit.line("return x")
    return emit.compile("read", writer.name or writer.kind)


def _too_short(data: bytes) -> NoReturn:
    raise DataError(f"a message of {len(data)} bytes is not what its Avro schema says: it ends too early")


def _bad_branch(number: int) -> NoReturn:
    raise DataError(f"a message is not what its Avro schema says: it chooses branch {number} of a union")


def _bad_symbol(name: str, number: Any) -> NoReturn:
    raise DataError(f"a message has the symbol {number} of the Avro enum {name}, which the reader's schema lacks")


class _ReaderCode:
    """Emits the statements that read a value of ``b`` at ``i`` into a variable and move ``i`` behind it."""

    def __init__(self, style: AvroStyle) -> None:
        self._style = style
        self._functions: dict[tuple[int, int, int], str] = {}
        self.emit = Emitter(
            too_short=_too_short,
            bad_branch=_bad_branch,
            bad_symbol=_bad_symbol,
            struct_error=struct.error,
            unpack_float=struct.Struct("<f").unpack_from,
            unpack_double=struct.Struct("<d").unpack_from,
            anything=read_anything,
            freeze=FrozenKey.of,
        )

    def value(self, writer: AvroType, reader: AvroType, schema: Schema | None, var: str, inline: bool = False) -> None:
        """``schema=None`` reads without converting. ``inline`` puts a record into the function at hand."""
        if writer.kind == "union":
            self._written_union(writer, reader, schema, var)
        elif reader.kind == "union":
            self._read_union(writer, reader, schema, var)
        elif not matches(writer, reader):
            raise _unreadable(writer, reader)
        elif writer.name == names.ANYTHING:
            self.emit.line(f"{var}, i = anything(b, i)")
        elif writer.kind in ("record", "array", "map") and not inline:
            function = self._function(writer, reader, schema)
            self.emit.line(f"{var}, i = {function}(b, i)")
        else:
            self._content(writer, reader, schema, var)

    def _function(self, writer: AvroType, reader: AvroType, schema: Schema | None) -> str:
        key = (id(writer), id(reader), id(schema))
        if key not in self._functions:
            name = self._functions[key] = self.emit.name("read")
            with self.emit.function(f"{name}(b, i)"):
                self._content(writer, reader, schema, "x")
                self.emit.line("return x, i")
        return self._functions[key]

    def _written_union(self, writer: AvroType, reader: AvroType, schema: Schema | None, var: str) -> None:
        emit, branch = self.emit, self.emit.name("n")
        emit.lines(f"{branch} = b[i]", "i += 1")
        for number, node in enumerate(writer.branches):
            with emit.block(f"{'el' if number else ''}if {branch} == {2 * number}:"):
                self._branch(node, reader, schema, var)
        with emit.block("else:"):
            emit.line(f"bad_branch({branch} // 2)")

    def _branch(self, node: AvroType, reader: AvroType, schema: Schema | None, var: str) -> None:
        """One branch; what cannot be read fails only when it is met."""
        target = reader_branch(node, reader) if reader.kind == "union" else reader
        if target is None or not (node.kind == "union" or matches(node, target)):
            problem = self.emit.constant(str(_unreadable(node, reader)))
            self.emit.line(f"{self.emit.constant(_refuse)}({problem})")
        else:
            self.value(node, reader, schema, var)

    def _read_union(self, writer: AvroType, reader: AvroType, schema: Schema | None, var: str) -> None:
        branch = reader_branch(writer, reader)
        if branch is None:
            raise _unreadable(writer, reader)
        is_plain = schema is None or branch.kind == "null" or optional_branch(reader) is not None
        if is_plain or (schema is not None and schema.name != names.UNION):
            self.value(writer, branch, schema, var)
            return
        name = union_member(branch, self._style)
        self.value(writer, branch, schema.by_name[name].schema if schema else None, var)
        self.emit.line(f"{var} = {{{name!r}: {var}}}")

    def _content(self, writer: AvroType, reader: AvroType, schema: Schema | None, var: str) -> None:
        kind = writer.kind
        if kind == "record":
            self._record(writer, reader, schema, var)
        elif kind == "array":
            self._array(writer, reader, schema, var)
        elif kind == "map":
            self._map(writer, reader, schema, var)
        elif kind in ("int", "long"):
            self._long(var)
            self._number(reader, schema, var)
        elif kind in ("float", "double"):
            size = 4 if kind == "float" else 8
            self.emit.lines(f"{var} = unpack_{kind}(b, i)[0]", f"i += {size}")
        elif kind == "boolean":
            self.emit.lines(f"{var} = b[i] == 1", "i += 1")
        elif kind == "null":
            self.emit.line(f"{var} = None")
        elif kind == "enum":
            self._enum(writer, reader, var)
        else:
            self._bytes(writer, reader, schema, var)

    def _long(self, var: str) -> None:
        emit = self.emit
        emit.lines(f"{var} = b[i]", "i += 1")
        with emit.block(f"if {var} > 127:"):
            emit.lines(f"{var} &= 127", "s = 7")
            with emit.block("while True:"):
                emit.lines("c = b[i]", "i += 1", f"{var} |= (c & 127) << s", "s += 7", "if c < 128: break")
            emit.line("if s > 70: too_short(b)")
        emit.line(f"{var} = {var} >> 1 ^ -({var} & 1)")

    def _number(self, reader: AvroType, schema: Schema | None, var: str) -> None:
        """From the integer in ``var`` to what the reader wants."""
        emit = self.emit
        if reader.kind in ("float", "double"):
            emit.line(f"{var} = float({var})")
        elif schema is not None and schema.name in _CONVERSIONS:
            stem, convert = _CONVERSIONS[schema.name]
            emit.line(f"{var} = {emit.constant(convert, stem)}({var})")
        elif schema is not None and schema.type in _BITS:
            bits = _BITS[schema.type]
            emit.line(f"{var} = ({var} + {1 << bits - 1} & {(1 << bits) - 1}) - {1 << bits - 1}")

    def _bytes(self, writer: AvroType, reader: AvroType, schema: Schema | None, var: str) -> None:
        emit = self.emit
        if writer.kind == "fixed":
            size = str(writer.size)
        else:
            size = emit.name("n")
            self._long(size)
        emit.lines(f"{var} = b[i:i + {size}]", f"i += {size}", f"if len({var}) != {size}: too_short(b)")
        self.bytes_value(reader, schema, var)

    def bytes_value(self, reader: AvroType, schema: Schema | None, var: str) -> None:
        """From the bytes in ``var`` to what the reader wants."""
        if reader.kind == "string":
            self.emit.line(f'{var} = {var}.decode("utf-8", "replace")')
        elif schema is not None and schema.name == DECIMAL_NAME:
            self.emit.line(f"{var} = {self.emit.constant(_decimals(schema), 'decimal')}({var})")

    def _enum(self, writer: AvroType, reader: AvroType, var: str) -> None:
        emit = self.emit
        fallback = None if reader.default is NO_DEFAULT else reader.default
        table = [symbol if symbol in reader.symbols else fallback for symbol in writer.symbols]
        symbols, number = emit.constant(table), emit.name("n")
        self._long(number)
        emit.line(f"{var} = {symbols}[{number}] if 0 <= {number} < {len(table)} else None")
        emit.line(f"if {var} is None: bad_symbol({writer.name!r}, {number})")

    def _record(self, writer: AvroType, reader: AvroType, schema: Schema | None, var: str) -> None:
        sources = {id(source): f for f in reader.fields if (source := writer_field(f, writer)) is not None}
        found: dict[str, str] = {}
        for slot in writer.fields:
            inner = self.emit.name("v")
            wanted = sources.get(id(slot))
            if wanted is None:
                self.value(slot.type, slot.type, None, inner)
                continue
            self.value(slot.type, wanted.type, _member(schema, wanted.name), inner)
            found[wanted.name] = inner
        for wanted in reader.fields:
            if wanted.name not in found:
                if wanted.default is NO_DEFAULT:
                    raise DataError(
                        f"The Avro record {reader.name} has a field {wanted.name} without a default,"
                        " which the message does not have"
                    )
                default = default_value(_member(schema, wanted.name), wanted.type, wanted.default)
                found[wanted.name] = self.emit.constant(default)
        members = ", ".join(f"{f.name!r}: {found[f.name]}" for f in reader.fields)
        self.emit.line(f"{var} = {{{members}}}")

    def _array(self, writer: AvroType, reader: AvroType, schema: Schema | None, var: str) -> None:
        emit, item = self.emit, self.emit.name("v")
        if schema is not None and schema.type is SchemaType.MAP and is_map_entry(reader.content):
            self._entries(writer, reader, schema, var)
            return
        emit.line(f"{var} = []")
        with self._blocks():
            self.value(writer.content, reader.content, schema.value_schema if schema else None, item)
            emit.line(f"{var}.append({item})")

    def _entries(self, writer: AvroType, reader: AvroType, schema: Schema, var: str) -> None:
        """A map as an array of keys and values."""
        emit, key, item = self.emit, self.emit.name("k"), self.emit.name("v")
        written = {f.name: f.type for f in writer.content.fields}
        wanted = {f.name: f.type for f in reader.content.fields}
        if list(written) != [names.KEY, names.VALUE]:
            raise _unreadable(writer.content, reader.content)
        emit.line(f"{var} = {{}}")
        with self._blocks():
            self.value(written[names.KEY], wanted[names.KEY], schema.key_schema, key)
            self.value(written[names.VALUE], wanted[names.VALUE], schema.value_schema, item)
            emit.line(f"{var}[freeze({key})] = {item}")

    def _map(self, writer: AvroType, reader: AvroType, schema: Schema | None, var: str) -> None:
        emit, key, item = self.emit, self.emit.name("k"), self.emit.name("v")
        text = AvroType("string")
        emit.line(f"{var} = {{}}")
        with self._blocks():
            self.value(text, text, None, key)
            self.value(writer.content, reader.content, schema.value_schema if schema else None, item)
            emit.line(f"{var}[{key}] = {item}")

    def _blocks(self) -> ExitStack:
        """The loops around the items of an array or a map, which come in counted blocks."""
        emit, count, size = self.emit, self.emit.name("n"), self.emit.name("n")
        stack = ExitStack()
        stack.enter_context(emit.block("while True:"))
        self._long(count)
        emit.line(f"if {count} == 0: break")
        with emit.block(f"if {count} < 0:"):
            emit.line(f"{count} = -{count}")
            self._long(size)
        emit.line(f"if {count} > len(b): too_short(b)")
        stack.enter_context(emit.block(f"for _ in range({count}):"))
        return stack


def _member(schema: Schema | None, name: str) -> Schema | None:
    return None if schema is None else schema.by_name[name].schema


def _decimals(schema: Schema) -> Callable[[bytes], Any]:
    return lambda data: decimal_from_bytes(schema, data)


def _refuse(problem: str) -> NoReturn:
    raise DataError(problem)


def _unreadable(writer: AvroType, reader: AvroType) -> DataError:
    written, wanted = writer.name or writer.kind, reader.name or reader.kind
    return DataError(f"Avro data of type {written} cannot be read as {wanted}")
