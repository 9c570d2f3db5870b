"""Made-up schemas, values and texts for :mod:`fuzz`, with more odd corners than everyday records have."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from random import Random
from typing import Any

DATA = "org.apache.kafka.connect.data."
ODD: dict[str, list[str]] = json.loads(Path(__file__).with_name("odd.json").read_text("utf-8"))
FEW = ("a", "b", "n")


class Literal(str):
    """A JSON number (or what is none), spelt as it stands."""


def write(value: Any) -> str:
    """Compact JSON in which literals keep their spelling."""
    if isinstance(value, Literal):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{_quoted(name)}:{write(member)}" for name, member in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(write, value)) + "]"
    return _quoted(value) if isinstance(value, str) else json.dumps(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=any("\ud800" <= c <= "\udfff" for c in text))


def read(text: str) -> Any:
    """The reverse of :func:`write`."""
    return json.loads(text, parse_int=Literal, parse_float=Literal, parse_constant=Literal)


def form(data: bytes | None) -> dict[str, str] | None:
    """Bytes as case files show them."""
    if data is None:
        return None
    try:
        return {"text": data.decode("utf-8")}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def number(random: Random) -> Literal:
    which = random.random()
    if which < 0.6:
        return Literal(random.choice(ODD["numbers"]))
    if which < 0.8:
        return Literal(str(random.randrange(-(2 ** random.randrange(1, 70)), 2 ** random.randrange(1, 70))))
    if which < 0.97:
        return Literal(repr(random.uniform(-1, 1) * 10.0 ** random.randrange(-12, 25)))
    return Literal(random.choice(ODD["malformed numbers"]))


def text(random: Random) -> str:
    which = random.random()
    if which < 0.75:
        return random.choice(ODD["texts"])
    if which < 0.85:
        return str(number(random))
    if which < 0.88:
        return random.choice(["\ud83d", "\ude00", "a\ud83d", "\ude00\ud83d"])
    return "".join(random.choice("ab1 .,:;\"'\\/{}[]é😀\u0001-+eE\n") for _ in range(random.randrange(9)))


def name(random: Random) -> str:
    return random.choice(FEW) if random.random() < 0.7 else random.choice(ODD["names"])


def schemaless(random: Random, depth: int = 3) -> Any:
    which = random.random()
    if depth and which < 0.3:
        return {name(random): schemaless(random, depth - 1) for _ in range(random.randrange(4))}
    if depth and which < 0.4:
        return [schemaless(random, depth - 1) for _ in range(random.randrange(4))]
    return random.choice([number, number, text, text, lambda _: None, lambda r: r.random() < 0.5])(random)


def schemaless_map(random: Random) -> Any:
    if random.random() < 0.1:
        return schemaless(random)
    return {name(random): schemaless(random, 2) for _ in range(random.randrange(1, 5))}


LOGICAL = {"Decimal": "bytes", "Date": "int32", "Time": "int32", "Timestamp": "int64"}
SCALARS = ("int8", "int16", "int32", "int64", "float", "double", "boolean", "string", "bytes")
WRONG_TYPES = ("float32", "float64", "INT8", "", "null", "integer", "decimal")


def schema(random: Random, depth: int = 2, struct: bool = False) -> dict[str, Any]:
    """The JSON form of a schema, rarely one that is refused."""
    which = random.random()
    found: dict[str, Any]
    if struct or (depth and which < 0.15):
        names = list(dict.fromkeys(name(random) for _ in range(random.randrange(5))))
        fields = [{**schema(random, depth - 1 if depth else 0), "field": each} for each in names]
        found = {"type": "struct", "fields": fields}
    elif depth and which < 0.22:
        found = {"type": "array", "items": schema(random, depth - 1)}
    elif depth and which < 0.3:
        keys = {"type": "string"} if random.random() < 0.6 else schema(random, depth - 1)
        found = {"type": "map", "keys": keys, "values": schema(random, depth - 1)}
    elif which < 0.5:
        logical = random.choice(list(LOGICAL))
        found = {"type": LOGICAL[logical], "name": DATA + logical}
        if random.random() < 0.9:
            found["version"] = 1
        if logical == "Decimal":
            scale = random.choice(["0", "2", "2", "5", "-2", "30"])
            found["parameters"] = {"scale": scale}
            if random.random() < 0.2:
                found["parameters"]["connect.decimal.precision"] = "9"
    else:
        found = {"type": random.choice(SCALARS)}
    return _decorated(random, found, depth)


def _decorated(random: Random, found: dict[str, Any], depth: int) -> dict[str, Any]:
    if random.random() < 0.5:
        found["optional"] = random.random() < 0.8
    if random.random() < 0.15 and "name" not in found:
        found["name"] = random.choice(["N", "org.x.Y", "", DATA + "Timestamp", DATA + "Date", DATA + "Decimal"])
    if random.random() < 0.1:
        found["version"] = random.choice([1, 2, 0, -3])
    if random.random() < 0.1:
        found["doc"] = random.choice(["some words", "", "ä"])
    if random.random() < 0.08 and "parameters" not in found:
        found["parameters"] = random.choice([{"p": "1"}, {}, {"p": "1", "q": "é"}, {"scale": "1"}])
    if random.random() < 0.2:
        found["default"] = payload(random, found, depth)
    if random.random() < 0.015:
        found["type"] = random.choice(WRONG_TYPES)
    if random.random() < 0.01:
        found[random.choice(["name", "version", "doc", "optional", "parameters", "default"])] = schemaless(random, 1)
    return found


def payload(random: Random, schema: dict[str, Any], depth: int = 2) -> Any:
    """What mostly fits a schema."""
    if random.random() < (0.2 if schema.get("optional") else 0.03):
        return None
    kind = schema["type"]
    if random.random() < 0.03 or kind in WRONG_TYPES:
        return schemaless(random, 1)
    if kind == "struct":
        fields = schema["fields"]
        members = {f["field"]: payload(random, f, depth - 1) for f in fields if random.random() < 0.93}
        return {**members, "extra": Literal("1")} if random.random() < 0.05 else members
    if kind == "array":
        return [payload(random, schema["items"], depth - 1) for _ in range(random.choice([0, 1, 1, 2, 3]))]
    if kind == "map":
        return _map_payload(random, schema, depth)
    return _scalar(random, kind, str(schema.get("name") or ""))


def _map_payload(random: Random, schema: dict[str, Any], depth: int) -> Any:
    pairs = [
        (payload(random, schema["keys"], depth - 1), payload(random, schema["values"], depth - 1))
        for _ in range(random.choice([0, 1, 1, 2, 3]))
    ]
    if schema["keys"]["type"] == "string" and random.random() < 0.9:
        return {key if isinstance(key, str) else "k": value for key, value in pairs}
    return [[key, value] for key, value in pairs]


_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}


def _scalar(random: Random, kind: str, logical: str) -> Any:
    if logical.endswith("Decimal"):
        size = random.choice([0, 1, 1, 2, 3, 9, 20])
        encoded = base64.b64encode(random.randbytes(size)).decode()
        return encoded if random.random() < 0.75 else number(random)
    if kind in _BITS:
        bits = _BITS[kind]
        if logical.endswith("Date"):
            return Literal(random.choice(["0", "-1", "19000", "-719162", "-719163", "2932896", "2932897", "-25567"]))
        if random.random() < 0.1:
            return number(random)
        if random.random() < 0.3:
            return Literal(str(random.choice([-(2 ** (bits - 1)), 2 ** (bits - 1) - 1, 0, -1])))
        if bits == 64 and random.random() < 0.5:
            return Literal(random.choice(["1700000000123", "-1", "-62135596800000", "253402300799999", "1700000000"]))
        return Literal(str(random.randrange(-(2 ** (bits - 1)), 2 ** (bits - 1))))
    if kind in ("float", "double"):
        return number(random)
    if kind == "boolean":
        return random.random() < 0.5
    if kind == "bytes":
        return random.choice(
            [
                "",
                "AA==",
                "AAE=",
                "/w==",
                "-_8=",
                "QUJDRA==",
                "Q",
                "QUJD\n",
                base64.b64encode(random.randbytes(5)).decode(),
            ]
        )
    return text(random)


def envelope(random: Random, struct: bool = True) -> Any:
    """A schema and what follows it, rarely without one of both."""
    made = schema(random, 2, struct=struct and random.random() < 0.9)
    found: dict[str, Any] = {"schema": made, "payload": payload(random, made)}
    odd = random.random()
    if odd < 0.01:
        found.pop(random.choice(["schema", "payload"]))
    elif odd < 0.02:
        found["more"] = None
    elif odd < 0.03:
        found["schema"] = random.choice([None, True, Literal("1"), "string", [], {}])
    elif odd < 0.04:
        found = {"payload": found["payload"], "schema": found["schema"]}
    return found


_ODD_BYTES = tuple(map(bytes.fromhex, ODD["damaging bytes"]))


def damaged(random: Random, data: bytes) -> bytes:
    """Bytes with a mistake somewhere."""
    at = random.randrange(len(data) + 1)
    put = random.choice([*(text.encode() for text in ODD["damage"]), *_ODD_BYTES])
    return data[:at] + put + data[at + random.randrange(3) :]


def header_text(random: Random, depth: int = 3) -> str:
    """What SimpleHeaderConverter has to guess the type of."""
    which = random.random()
    blank = random.choice(["", "", "", " "])
    if depth and which < 0.22:
        return "[" + f"{blank},{blank}".join(header_text(random, depth - 1) for _ in range(random.randrange(4))) + "]"
    if depth and which < 0.45:
        entries = (
            f"{header_text(random, depth - 2 if depth > 1 else 0)}{blank}:{blank}{header_text(random, depth - 1)}"
            for _ in range(random.randrange(4))
        )
        return "{" + f"{blank},{blank}".join(entries) + "}"
    if which < 0.5:
        return "".join(random.choice(ODD["header parts"]) for _ in range(random.randrange(5)))
    if which < 0.6:
        return '"' + random.choice(ODD["header parts"]) + '"'
    if which < 0.65:
        return text(random).replace("\ud83d", "").replace("\ude00", "")
    return blank + random.choice(ODD["header parts"]) + blank
