"""Whether and how data of one Avro type can be read as another: Avro's schema resolution."""

from __future__ import annotations

from penstock.api.record import NO_DEFAULT

from .schema import NAMED, AvroField, AvroType

_PROMOTIONS = {
    "int": ("long", "float", "double"),
    "long": ("float", "double"),
    "float": ("double",),
    "string": ("bytes",),
    "bytes": ("string",),
}


def matches(writer: AvroType, reader: AvroType) -> bool:
    """Whether the two types match at their surface (the outermost type and its name)."""
    if writer.kind != reader.kind:
        return reader.kind in _PROMOTIONS.get(writer.kind, ())
    if writer.kind == "fixed" and writer.size != reader.size:
        return False
    if writer.kind in NAMED:
        return writer.short_name == reader.short_name or writer.name in reader.aliases
    return True


def reader_branch(writer: AvroType, union: AvroType) -> AvroType | None:
    """The branch of a reader's union for data of a type: the same type first, else one it can become."""
    exact = [b for b in union.branches if b.kind == writer.kind and (b.kind not in NAMED or b.name == writer.name)]
    return next(iter(exact), None) or next((b for b in union.branches if matches(writer, b)), None)


def writer_field(wanted: AvroField, writer: AvroType) -> AvroField | None:
    """The field of a written record that a reader's field gets its values from."""
    by_name = {f.name: f for f in writer.fields}
    for name in (wanted.name, *wanted.aliases):
        if name in by_name:
            return by_name[name]
    return None


def problems(reader: AvroType, writer: AvroType) -> list[str]:
    """Why data of ``writer`` cannot always be read as ``reader``; empty when it can."""
    return _problems(reader, writer, "/", set())


def _problems(reader: AvroType, writer: AvroType, path: str, seen: set[tuple[int, int]]) -> list[str]:
    if (id(reader), id(writer)) in seen:
        return []
    seen.add((id(reader), id(writer)))
    if writer.kind == "union":
        found = [_problems(reader, branch, path, seen) for branch in writer.branches]
        return [problem for one in found for problem in one]
    if reader.kind == "union":
        branch = reader_branch(writer, reader)
        if branch is None:
            return [f"{path}: reader union lacking writer type {(writer.name or writer.kind).upper()}"]
        return _problems(branch, writer, path, seen)
    if not matches(writer, reader):
        return [f"{path}: reader type {_shown(reader)} not compatible with writer type {_shown(writer)}"]
    if reader.kind == "record":
        return _record_problems(reader, writer, path, seen)
    if reader.kind == "enum" and reader.default is NO_DEFAULT:
        missing = [symbol for symbol in writer.symbols if symbol not in reader.symbols]
        return [f"{path}: the reader enum {reader.name} lacks the symbols {', '.join(missing)}"] if missing else []
    if reader.kind in ("array", "map"):
        return _problems(reader.content, writer.content, f"{path}{reader.kind}/", seen)
    return []


def _record_problems(reader: AvroType, writer: AvroType, path: str, seen: set[tuple[int, int]]) -> list[str]:
    found = []
    for wanted in reader.fields:
        source = writer_field(wanted, writer)
        if source is not None:
            found += _problems(wanted.type, source.type, f"{path}{wanted.name}/", seen)
        elif wanted.default is NO_DEFAULT:
            found.append(f"{path}{wanted.name}: the reader's field {wanted.name} has no default value and is missing")
    return found


def _shown(node: AvroType) -> str:
    return f"{node.kind.upper()} {node.name}" if node.name else node.kind.upper()
