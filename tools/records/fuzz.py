"""Looks for records that come out of Penstock otherwise than out of Kafka Connect: ``make fuzz-records``.

Makes up cases from a seed (every transform, predicate and converter, biased to odd corners), observes them on Kafka's
own classes, and passes them through Penstock record by record and in batches as executors do. Each difference is made
smaller and printed as a case to put into ``tests/records``. The exit code tells whether there was one. Needs a JDK,
from Java 19 on (older ones print other digits of floats); no broker.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, TypeVar

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2]), str(Path(__file__).parents[2] / "src")]

import odd_configs as configs  # noqa: E402
import odd_values as values  # noqa: E402
from comparing import difference  # noqa: E402
from observe import observe, readable  # noqa: E402
from shrinking import smaller  # noqa: E402

from penstock.converters.json import shape_book  # noqa: E402

Case = dict[str, Any]
Make = TypeVar("Make", bound=Callable[..., Case])
KINDS: dict[str, Callable[..., Case]] = {}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--only", help=f"one of {', '.join(KINDS)}, or the name of a transform")
    parser.add_argument("--shrink", type=int, default=12, help="rounds of making differences smaller")
    parser.add_argument("--most", type=int, default=20, help="differences to show")
    options = parser.parse_args()
    shape_book.FEWEST_ROWS = 1
    found = search(options.seed, options.cases, options.only, options.most, options.shrink)
    for case, told in found:
        print(f"\n{case['name']}: {told}\n{json.dumps(case, ensure_ascii=False)}")
    return 1 if found else 0


def search(seed: int, count: int, only: str | None, most: int, rounds: int) -> list[tuple[Case, str]]:
    """Differences, of each kind the first, with the case they show in."""
    cases = [make(seed, index, only) for index in range(count)]
    records = sum(len(case["records"]) for case in cases)
    differing = compared(cases)
    kinds: dict[str, Case] = {}
    for case, told in differing:
        kinds.setdefault(_signature(case, told), case)
    print(f"seed {seed}: {count} cases, {records} records, {len(differing)} differ in {len(kinds)} ways")
    return smaller(list(kinds.values())[:most], compared, rounds)


def compared(cases: list[Case]) -> list[tuple[Case, str]]:
    """Cases as observed, where they come out otherwise here."""
    found = []
    for case, seen in zip(cases, observe(cases), strict=True):
        observed = {**{key: case[key] for key in case if key not in ("expect", "config_error")}, **readable(seen)}
        told = difference(observed)
        if told is not None:
            found.append((observed, told))
    return found


def _signature(case: Case, told: str) -> str:
    kinds = sorted(value.rpartition(".")[2] for key, value in case["config"].items() if key.endswith(".type"))
    return f"{case['name'].split(' ')[0]} {kinds} {told[:40]}"


def make(seed: int, index: int, only: str | None) -> Case:
    random = Random(f"{seed}/{index}")
    if only in KINDS:
        kind, case = only, KINDS[only](random)
    elif only is not None:
        kind, case = only, transformed(random, only)
    else:
        kind = random.choice(["transformed"] * 5 + list(KINDS))
        case = KINDS[kind](random)
    return {"name": f"{kind} {seed}/{index}", **case}


def _kind(function: Make) -> Make:
    KINDS[function.__name__] = function
    return function


@_kind
def transformed(random: Random, named: str | None = None) -> Case:
    """JSON through transforms."""
    with_schema = random.random() < 0.55
    sides = {"in": with_schema, "out": with_schema if random.random() < 0.8 else not with_schema}
    converters = {side: _json(random, schemas) for side, schemas in sides.items()}
    data = values.envelope if with_schema else values.schemaless_map

    def content(role: str) -> bytes | None:
        chance = random.random()
        return None if chance < 0.06 else values.write(data(random)).encode("utf-8", "surrogatepass")

    return _case(random, configs.chain(random, named), converters, content)


def _json(random: Random, schemas: bool) -> dict[str, str]:
    key = configs.json_converter(random, "key", schemas)
    header = {"header.converter": configs.SIMPLE} if random.random() < 0.6 else configs.converter(random, "header")
    return {**key, **configs.json_converter(random, "value", schemas), **header}


@_kind
def converted(random: Random) -> Case:
    """Bytes from one converter to another."""
    converters = {side: _any(random) for side in ("in", "out")}

    def content(role: str) -> bytes | None:
        kind, settings = converters["in"][f"{role}.converter"], converters["in"]
        if random.random() < 0.05:
            return None
        if kind != configs.JSON:
            return _plain_bytes(random, kind)
        schemas = settings[f"{role}.converter.schemas.enable"] == "true"
        made = values.envelope(random, struct=False) if schemas else values.schemaless(random)
        data = values.write(made).encode("utf-8", "surrogatepass")
        return values.damaged(random, data) if random.random() < 0.15 else data

    return _case(random, {}, converters, content)


def _any(random: Random) -> dict[str, str]:
    return {key: value for role in ("key", "value", "header") for key, value in configs.converter(random, role).items()}


_SIZES = {"Short": 2, "Integer": 4, "Float": 4, "Boolean": 1}


def _plain_bytes(random: Random, kind: str) -> bytes:
    if kind in (configs.STRING, configs.BYTES, configs.SIMPLE):
        data = values.text(random).encode("utf-8", "surrogatepass")
        return values.damaged(random, data) if random.random() < 0.2 else data
    size = next((size for name, size in _SIZES.items() if f".{name}Converter" in kind), 8)
    special = [
        b"\x7f\xc0\x00\x00",
        b"\xff\xf0" + b"\x00" * 6,
        b"\x80" + b"\x00" * (size - 1),
        b"\x7f\xf8" + b"\x00" * 6,
    ]
    if random.random() < 0.3:
        fitting = [data for data in special if len(data) == size]
        return random.choice(fitting)
    return (
        random.randbytes(size if random.random() < 0.93 else random.randrange(10))
        if size > 1
        else bytes([random.choice([0, 0, 1, 1, 2, 255])])
    )


@_kind
def headed(random: Random) -> Case:
    """Headers whose type is guessed."""
    quiet = {**{f"{role}.converter": configs.STRING for role in ("key", "value")}}
    shown = random.choice([configs.json_converter(random, "header", True), {"header.converter": configs.SIMPLE}])
    converters = {"in": {**quiet, "header.converter": configs.SIMPLE}, "out": {**quiet, **shown}}
    case = _case(random, {}, converters, lambda role: b"v")
    for record in case["records"]:
        record["headers"] = [["h", values.form(_guessed(random))] for _ in range(random.randrange(1, 4))]
    return case


def _guessed(random: Random) -> bytes:
    data = values.header_text(random).encode("utf-8", "replace")
    return values.damaged(random, data) if random.random() < 0.05 else data


def _case(
    random: Random,
    config: dict[str, str],
    converters: dict[str, dict[str, str]],
    content: Callable[[str], bytes | None],
) -> Case:
    kind = "sink" if random.random() < 0.8 else "source"
    records = [_record(random, kind, converters["in"], content) for _ in range(random.choice([1, 2, 3, 4]))]
    case: Case = {"kind": kind, "config": config, **converters, "records": records}
    if random.random() < 0.04:
        part = random.choice(["config", "config", "in"])
        case[part] = configs.spoilt(random, case[part]) if case[part] else {}
    return case


def _record(random: Random, kind: str, reading: dict[str, str], content: Callable[[str], bytes | None]) -> Case:
    partition = random.choice([0, 0, 1]) if kind == "sink" or random.random() < 0.5 else None
    names = [random.choice(["h", "k", "h", "é", ""]) for _ in range(random.choice([0, 0, 1, 2]))]
    return {
        "topic": random.choice(configs.TOPICS),
        "partition": partition,
        "offset": random.choice([0, 0, 5, 2**40]),
        "timestamp": random.choice([1700000000123, 1700000000123, 0, None, 253402300799999, 1, 86399999]),
        "key": values.form(content("key")),
        "value": values.form(content("value")),
        "headers": [[name, values.form(_header(random, reading, content))] for name in names],
    }


def _header(random: Random, reading: dict[str, str], content: Callable[[str], bytes | None]) -> bytes | None:
    if reading["header.converter"] == configs.SIMPLE:
        return _guessed(random)
    if reading["header.converter"] == configs.JSON:
        schemas = reading["header.converter.schemas.enable"] == "true"
        made = values.envelope(random, struct=False) if schemas else values.schemaless(random)
        return values.write(made).encode("utf-8", "surrogatepass")
    return _plain_bytes(random, reading["header.converter"])


if __name__ == "__main__":
    sys.exit(main())
