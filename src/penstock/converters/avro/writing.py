"""From values of a Connect schema to Avro's binary form, by a function made for the pair of schemas."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from penstock.api.errors import DataError
from penstock.api.logical import DATE_NAME, DECIMAL_NAME, TIME_NAME, TIMESTAMP_NAME
from penstock.api.record import NO_DEFAULT, FrozenKey, Schema, SchemaType, struct_schema

from . import checks, names
from .anything import write_anything
from .codegen import Emitter
from .from_connect import has_string_keys, is_union
from .schema import AvroField, AvroType
from .styles import AvroStyle
from .to_connect import connect_schema, default_value

Write = Callable[[Any], bytes]

_FITTING: dict[SchemaType, tuple[str, ...]] = {
    SchemaType.INT8: ("int", "long", "float", "double"),
    SchemaType.INT16: ("int", "long", "float", "double"),
    SchemaType.INT32: ("int", "long", "float", "double"),
    SchemaType.INT64: ("long", "float", "double"),
    SchemaType.FLOAT32: ("float", "double"),
    SchemaType.FLOAT64: ("double",),
    SchemaType.BOOLEAN: ("boolean",),
    SchemaType.STRING: ("string", "enum"),
    SchemaType.BYTES: ("bytes", "fixed"),
    SchemaType.ARRAY: ("array",),
    SchemaType.MAP: ("map", "array"),
    SchemaType.STRUCT: ("record",),
}
_DATES = (DATE_NAME, TIME_NAME, TIMESTAMP_NAME)
_INTEGERS = (SchemaType.INT8, SchemaType.INT16, SchemaType.INT32, SchemaType.INT64)


def avro_writer(schema: Schema | None, node: AvroType, style: AvroStyle, prefix: bytes) -> Write:
    """A function from a value (not null) to ``prefix`` and the value in binary.

    Bytes alone are written as they are, without their length, as Kafka Connect's converter does.
    """
    code = _WriterCode(style)
    emit = code.emit
    with emit.function("write(v)"):
        emit.line(f"out = bytearray({emit.constant(prefix)})")
        if node.kind == "bytes" and schema is not None:
            code.bytes_content(schema, "v")
            emit.line("out += v")
        else:
            code.value(schema, node, "v", inline=True)
        emit.line("return bytes(out)")
    return emit.compile("write", node.name or node.kind)


class _WriterCode:
    """Emits the statements that append a value to ``out``."""

    def __init__(self, style: AvroStyle) -> None:
        self._style = style
        self.emit = Emitter(
            null_value=checks.null_value,
            float32_bytes=checks.float32_bytes,
            pack_double=struct.Struct("<d").pack,
            anything=write_anything,
            FrozenKey=FrozenKey,
        )

    def value(self, schema: Schema | None, node: AvroType, var: str, inline: bool = False) -> None:
        """``inline`` puts a struct into the function at hand instead of one of its own."""
        emit = self.emit
        if schema is None:
            emit.line(f"anything({var}, out)")
            return
        if node.kind == "union":
            self._union(schema, node, var)
            return
        with emit.block(f"if {var} is None:"):
            emit.line("null_value()")
        if not fits(schema, node, self._style):
            shown = node.name or node.kind
            raise DataError(f"A value of type {schema.type.name} cannot be written as the registry's Avro type {shown}")
        if schema.type in (SchemaType.STRUCT, SchemaType.ARRAY, SchemaType.MAP) and not inline:
            function = emit.name("write")
            with emit.function(f"{function}({var}, out)"):
                self._content(schema, node, var)
            emit.line(f"{function}({var}, out)")
        else:
            self._content(schema, node, var)

    def _union(self, schema: Schema, node: AvroType, var: str) -> None:
        emit = self.emit
        null = next((number for number, branch in enumerate(node.branches) if branch.kind == "null"), None)
        with emit.block(f"if {var} is None:"):
            allowed = null is not None and schema.optional
            emit.line(f"out.append({2 * (null or 0)})" if allowed else "null_value()")
        with emit.block("else:"):
            if is_union(schema):
                self._union_struct(schema, node, var, null)
                return
            for number, branch in enumerate(node.branches):
                if branch.kind != "null" and fits(schema, branch, self._style):
                    emit.line(f"out.append({2 * number})")
                    self.value(schema, branch, var)
                    return
            raise DataError(f"No branch of the registry's Avro union takes a value of type {schema.type.name}")

    def _union_struct(self, schema: Schema, node: AvroType, var: str, null: int | None) -> None:
        """A struct of which one field is set, for the branch in its place."""
        emit = self.emit
        numbers = [number for number, branch in enumerate(node.branches) if branch.kind != "null"]
        if len(numbers) != len(schema.fields):
            raise DataError("The struct of an Avro union has not as many fields as the registry's union has branches")
        function, inner = emit.name("write_union"), emit.name("v")
        with emit.function(f"{function}({var}, out)"):
            for member, number in zip(schema.fields, numbers, strict=True):
                emit.line(f"{inner} = {var}.get({member.name!r})")
                with emit.block(f"if {inner} is not None:"):
                    emit.line(f"out.append({2 * number})")
                    self.value(member.schema, node.branches[number], inner)
                    emit.line("return")
            emit.line(f"out.append({2 * null})" if null is not None and schema.optional else "null_value()")
        emit.line(f"{function}({var}, out)")

    def _content(self, schema: Schema, node: AvroType, var: str) -> None:
        kind = schema.type
        if kind is SchemaType.STRUCT:
            self._struct(schema, node, var)
        elif kind is SchemaType.ARRAY:
            self._array(schema, node, var)
        elif kind is SchemaType.MAP:
            self._map(schema, node, var)
        elif kind in _INTEGERS:
            self._integer(schema, node, var)
        elif kind in (SchemaType.FLOAT32, SchemaType.FLOAT64):
            self._checked(schema, var, "float", float)
            self._real(node, var)
        elif kind is SchemaType.BOOLEAN:
            self._checked(schema, var, "bool", bool)
            self.emit.line(f"out.append(1 if {var} else 0)")
        elif kind is SchemaType.STRING:
            self._string(schema, node, var)
        else:
            self._bytes(schema, node, var)

    def _checked(self, schema: Schema, var: str, plain: str, *accepted: type) -> None:
        check = self.emit.constant(checks.class_check(schema, *accepted), "check")
        with self.emit.block(f"if {var}.__class__ is not {plain}:"):
            self.emit.line(f"{var} = {check}({var})")

    def _long(self, var: str) -> None:
        """Append the number in ``var`` in variable-length form; ``z`` is used up."""
        emit = self.emit
        emit.line(f"z = {var} + {var} if {var} >= 0 else -{var} - {var} - 1")
        with emit.block("while z > 127:"):
            emit.lines("out.append(z & 127 | 128)", "z >>= 7")
        emit.line("out.append(z)")

    def _size(self, expression: str) -> None:
        """Append a length."""
        emit = self.emit
        emit.line(f"z = 2 * {expression}")
        with emit.block("while z > 127:"):
            emit.lines("out.append(z & 127 | 128)", "z >>= 7")
        emit.line("out.append(z)")

    def _integer(self, schema: Schema, node: AvroType, var: str) -> None:
        emit = self.emit
        if schema.name in _DATES:
            emit.line(f"{var} = {emit.constant(checks.date_check(schema), 'check')}({var})")
        else:
            low, high = checks.limits(schema.type)
            check = emit.constant(checks.integer_check(schema), "check")
            with emit.block(f"if {var}.__class__ is not int or not {low} <= {var} <= {high}:"):
                emit.line(f"{var} = {check}({var})")
        if node.kind in ("float", "double"):
            self._real(node, f"float({var})")
        else:
            self._long(var)

    def _real(self, node: AvroType, expression: str) -> None:
        pack = "float32_bytes" if node.kind == "float" else "pack_double"
        self.emit.line(f"out += {pack}({expression})")

    def _string(self, schema: Schema, node: AvroType, var: str) -> None:
        emit = self.emit
        if node.kind == "enum":
            index = emit.constant(checks.enum_index(node.name or "", node.symbols), "index")
            self._size(f"{index}({var})")
            return
        self._checked(schema, var, "str", str)
        emit.line(f'e = {var}.encode("utf-8", "replace")')
        self._size("len(e)")
        emit.line("out += e")

    def bytes_content(self, schema: Schema, var: str) -> None:
        """Make ``var`` plain bytes."""
        emit = self.emit
        if schema.name == DECIMAL_NAME:
            emit.line(f"{var} = {emit.constant(checks.decimal_check(schema), 'check')}({var})")
            return
        check = emit.constant(checks.bytes_check(schema), "check")
        with emit.block(f"if {var}.__class__ is not bytes:"):
            emit.line(f"{var} = {check}({var})")

    def _bytes(self, schema: Schema, node: AvroType, var: str) -> None:
        self.bytes_content(schema, var)
        if node.kind == "fixed":
            check = checks.fixed_check(node.size, signed=schema.name == DECIMAL_NAME)
            self.emit.line(f"out += {self.emit.constant(check, 'fixed')}({var})")
        else:
            self._size(f"len({var})")
            self.emit.line(f"out += {var}")

    def _struct(self, schema: Schema, node: AvroType, var: str) -> None:
        emit = self.emit
        self._checked(schema, var, "dict", dict)
        get = emit.name("get")
        emit.line(f"{get} = {var}.get")
        members = {names.scrub(f.name) if self._style.scrub else f.name: f for f in schema.fields}
        for slot in node.fields:
            member = members.get(slot.name) or next((members[a] for a in slot.aliases if a in members), None)
            if member is None:
                emit.line(f"out += {emit.constant(_absent_field(slot, node, self._style))}")
                continue
            inner = emit.name("v")
            emit.line(f"{inner} = {get}({member.name!r})")
            default = member.schema.default_value
            if default is not None and not (self._style.ignore_default and member.schema.optional):
                with emit.block(f"if {inner} is None:"):
                    emit.line(f"{inner} = {emit.constant(default)}")
            self.value(member.schema, slot.type, inner)

    def _array(self, schema: Schema, node: AvroType, var: str) -> None:
        emit, item = self.emit, self.emit.name("v")
        self._checked(schema, var, "list", list, tuple)
        with emit.block(f"if {var}:"):
            self._size(f"len({var})")
            with emit.block(f"for {item} in {var}:"):
                self.value(schema.value_schema, node.content, item)
        emit.line("out.append(0)")

    def _map(self, schema: Schema, node: AvroType, var: str) -> None:
        emit, key, item = self.emit, self.emit.name("k"), self.emit.name("v")
        self._checked(schema, var, "dict", dict)
        with emit.block(f"if {var}:"):
            self._size(f"len({var})")
            with emit.block(f"for {key}, {item} in {var}.items():"):
                if node.kind == "map":
                    self.value(Schema(SchemaType.STRING), AvroType("string"), key)
                    self.value(schema.value_schema, node.content, item)
                else:
                    types = {f.name: f.type for f in node.content.fields}
                    with emit.block(f"if {key}.__class__ is FrozenKey:"):
                        emit.line(f"{key} = {key}.value")
                    self.value(schema.key_schema, types[names.KEY], key)
                    self.value(schema.value_schema, types[names.VALUE], item)
        emit.line("out.append(0)")


def fits(schema: Schema, node: AvroType, style: AvroStyle) -> bool:
    """Whether values of a Connect type can be written as an Avro type, looking no further than the type."""
    if node.kind not in _FITTING[schema.type]:
        return False
    return schema.type is not SchemaType.MAP or (node.kind == "map") == has_string_keys(schema, style)


def _absent_field(slot: AvroField, record: AvroType, style: AvroStyle) -> bytes:
    """The bytes of a field that only the registry's schema has: its default."""
    if slot.default is NO_DEFAULT:
        raise DataError(
            f"The registry's Avro record {record.name} has a field {slot.name} without a default, which the"
            " record to write does not have"
        )
    schema = connect_schema(slot.type, style)
    if slot.default is None and slot.type.kind == "union":
        null = next(number for number, branch in enumerate(slot.type.branches) if branch.kind == "null")
        return bytes([2 * null])
    if schema is None:
        raise DataError(f"The default of the field {slot.name} of {record.name} cannot be used")
    value = default_value(schema, slot.type, slot.default)
    holder = AvroType("record", fields=[AvroField("v", slot.type)])
    wrapped = struct_schema(("v", schema))
    return avro_writer(wrapped, holder, style, b"")({"v": value})
