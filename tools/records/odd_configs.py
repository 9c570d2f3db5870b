"""Made-up settings for every transform, predicate and converter for :mod:`fuzz`, some of which are refused."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from odd_values import ODD, header_text, name, number, text

TRANSFORMS = "org.apache.kafka.connect.transforms."
CONVERTERS = "org.apache.kafka.connect.converters."
JSON = "org.apache.kafka.connect.json.JsonConverter"
STRING = "org.apache.kafka.connect.storage.StringConverter"
SIMPLE = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
NUMBERS = tuple(f"{CONVERTERS}{kind}Converter" for kind in ("Short", "Integer", "Long", "Float", "Double", "Boolean"))
BYTES = f"{CONVERTERS}ByteArrayConverter"

Settings = dict[str, str]
FLAGS = ("true", "false", "true", "false", "TRUE", " true ", "yes", "")
TOPICS = ("orders", "orders", "orders-1", "a.b", "ä", "aa", "ORDERS", "x")


def field_name(random: Random) -> str:
    which = random.random()
    if which < 0.8:
        return name(random)
    return random.choice(ODD["field paths"])


def fields(random: Random) -> str:
    return random.choice([",", ",", ", ", ",,"]).join(
        field_name(random) for _ in range(random.choice([1, 1, 1, 2, 2, 3]))
    )


def _maybe(random: Random, chance: float, **settings: Callable[[Random], str]) -> Settings:
    return {key.replace("__", "."): make(random) for key, make in settings.items() if random.random() < chance}


def _flag(random: Random) -> str:
    return random.choice(FLAGS[:4]) if random.random() < 0.95 else random.choice(FLAGS)


def _syntax(random: Random) -> Settings:
    return _maybe(
        random, 0.5, field__syntax__version=lambda r: r.choice(["V1", "V2", "V2", "V2", "v2", "V3", "", " V2"])
    )


TYPES = ("int8", "int16", "int32", "int64", "float32", "float64", "boolean", "string", "string", "string")
ODD_TYPES = ("bytes", "struct", "array", "INT8", "nope", "", "date", "map", " string ")


def _type(random: Random) -> str:
    return random.choice(TYPES) if random.random() < 0.96 else random.choice(ODD_TYPES)


def _cast(random: Random) -> Settings:
    if random.random() < 0.3:
        spec = _type(random)
    else:
        spec = ",".join(f"{name(random)}:{_type(random)}" for _ in range(random.choice([1, 1, 2, 3])))
    if random.random() < 0.03:
        spec = random.choice(
            ["", ",", "a", "a:int8:b", ":int8", "a:", ":", "int8,string", "a:int8,int8", "a:int8,a:string", "::"]
        )
    return {"spec": spec, **_maybe(random, 0.4, replace__null__with__default=_flag)}


def _extract(random: Random) -> Settings:
    return {"field": field_name(random), **_syntax(random), **_maybe(random, 0.4, replace__null__with__default=_flag)}


def _flatten(random: Random) -> Settings:
    return _maybe(random, 0.6, delimiter=lambda r: r.choice([".", "_", "", "--", " ", "é", "$"]))


def _header_from(random: Random) -> Settings:
    given = fields(random)
    count = given.count(",") + 1
    headers = ",".join(random.choice(["h", "k", "é", "x y", ""]) for _ in range(count if random.random() < 0.93 else 2))
    return {
        "fields": given,
        "headers": headers,
        "operation": random.choice(["move", "copy"] if random.random() < 0.95 else ["MOVE", "", "Copy", "x"]),
        **_maybe(random, 0.4, replace__null__with__default=_flag),
    }


def _insert_field(random: Random) -> Settings:
    given = _maybe(
        random, 0.35, topic__field=_marked, partition__field=_marked, offset__field=_marked, timestamp__field=_marked
    )
    if random.random() < 0.6 or not given:
        given |= _maybe(random, 0.95, static__field=_marked, static__value=text_setting)
    return given | _maybe(random, 0.4, replace__null__with__default=_flag)


def _marked(random: Random) -> str:
    return name(random) + random.choice(["", "", "", "!", "?", "!", "!!", "?!", " "])


def text_setting(random: Random) -> str:
    return text(random).encode("utf-8", "replace").decode()


def _mask(random: Random) -> Settings:
    shown = _maybe(random, 0.6, replacement=lambda r: str(number(r)) if r.random() < 0.5 else text_setting(r))
    return {"fields": fields(random), **shown, **_maybe(random, 0.4, replace__null__with__default=_flag)}


def _replace_field(random: Random) -> Settings:
    def renames(r: Random) -> str:
        return (
            ",".join(f"{name(r)}:{name(r)}" for _ in range(r.choice([1, 1, 2, 3])))
            if r.random() < 0.93
            else r.choice(["a", "a:b:c", ":", "a:", ":b", "", ",", "a:b,", " a : b "])
        )

    return _maybe(random, 0.45, include=fields, exclude=fields, renames=renames, replace__null__with__default=_flag)


def _metadata(random: Random) -> Settings:
    def version(r: Random) -> str:
        return r.choice(["1", "2", "0", "-1", "x", "2147483647", "2147483648", "", " 3 ", "1.0"])

    return _maybe(random, 0.6, schema__name=text_setting, schema__version=version, replace__null__with__default=_flag)


def date_pattern(random: Random) -> str:
    if random.random() < 0.75:
        return random.choice(ODD["date patterns"])
    letters = random.choices("yMdHhmsSEaDwWFukKzZXGLY", k=random.randrange(1, 5))
    return random.choice(["", "-", " ", "/", ":", "'x'", "''"]).join(
        c * random.choice([1, 1, 2, 2, 3, 4]) for c in letters
    )


def _timestamp(random: Random) -> Settings:
    targets = ("string", "unix", "Date", "Time", "Timestamp")

    def precision(r: Random) -> str:
        return r.choice(["seconds", "milliseconds", "microseconds", "nanoseconds"] * 5 + ["hours", "", "Seconds"])

    return {
        "target.type": random.choice(targets) if random.random() < 0.97 else random.choice(["", "date", "x", "Unix"]),
        **_maybe(random, 0.6, field=field_name),
        **_maybe(random, 0.7, format=date_pattern),
        **_maybe(random, 0.4, unix__precision=precision, replace__null__with__default=_flag),
    }


def _header_value(random: Random) -> str:
    return header_text(random).encode("utf-8", "replace").decode()


SIDED: dict[str, Callable[[Random], Settings]] = {
    "Cast": _cast,
    "ExtractField": _extract,
    "Flatten": _flatten,
    "HeaderFrom": _header_from,
    "HoistField": lambda r: {"field": field_name(r)},
    "InsertField": _insert_field,
    "MaskField": _mask,
    "ReplaceField": _replace_field,
    "SetSchemaMetadata": _metadata,
    "TimestampConverter": _timestamp,
}
UNSIDED: dict[str, Callable[[Random], Settings]] = {
    "DropHeaders": lambda r: {"headers": r.choice(["h", "h,k", "é", "", "x y,h", " h", "*"])},
    "Filter": lambda r: {},
    "InsertHeader": lambda r: {"header": r.choice(["h", "k", "", "é"]), "value.literal": _header_value(r)},
    "RegexRouter": lambda r: {"regex": r.choice(ODD["regexes"]), "replacement": r.choice(ODD["replacements"])},
    "TimestampRouter": lambda r: _maybe(
        r,
        0.7,
        topic__format=lambda r: r.choice(
            ["${topic}-${timestamp}", "${timestamp}", "x", "$1-${topic}${topic}", "", "${topic"]
        ),
        timestamp__format=date_pattern,
    ),
    "ValueToKey": lambda r: {"fields": fields(r), **_maybe(r, 0.4, replace__null__with__default=_flag)},
}
PREDICATES: dict[str, Callable[[Random], Settings]] = {
    "HasHeaderKey": lambda r: {"name": r.choice(["h", "k", "", "é", "H"])},
    "RecordIsTombstone": lambda r: {},
    "TopicNameMatches": lambda r: {"pattern": r.choice(ODD["regexes"])},
}


def transform(random: Random, named: str | None = None) -> Settings:
    """Settings of one transform, without prefix."""
    name = named or random.choice([*SIDED, *SIDED, *UNSIDED])
    if name in SIDED:
        side = random.choice(["$Value", "$Value", "$Value", "$Key"]) if random.random() < 0.995 else ""
        settings = {"type": f"{TRANSFORMS}{name}{side}", **SIDED[name](random)}
    else:
        settings = {"type": f"{TRANSFORMS}{name}", **UNSIDED[name](random)}
    return settings


def chain(random: Random, named: str | None = None) -> Settings:
    """The ``transforms`` and ``predicates`` of a connector."""
    length = random.choice([1, 1, 1, 2, 3])
    names = [f"t{index}" for index in range(length)]
    config = {"transforms": random.choice([",", ", "]).join(names)}
    predicates: list[str] = []
    for index, each in enumerate(names):
        link = transform(random, named if index == 0 else None)
        if link.get("type", "").endswith("Filter") or random.random() < 0.12:
            predicates.append(f"p{len(predicates)}")
            link["predicate"] = predicates[-1] if random.random() < 0.98 else "nope"
        if random.random() < (0.4 if "predicate" in link else 0.01):
            link["negate"] = _flag(random)
        config |= {f"transforms.{each}.{key}": value for key, value in link.items()}
    if predicates:
        config["predicates"] = ",".join(predicates)
    for each in predicates:
        kind = random.choice(list(PREDICATES))
        config |= {f"predicates.{each}.{key}": value for key, value in PREDICATES[kind](random).items()}
        config[f"predicates.{each}.type"] = f"{TRANSFORMS}predicates.{kind}"
    return config


def json_converter(random: Random, role: str, schemas: bool) -> Settings:
    own = {"schemas.enable": str(schemas).lower()}
    own |= _maybe(
        random,
        0.25,
        replace__null__with__default=lambda r: r.choice(["true", "false"]),
        decimal__format=_decimal_format,
    )
    return _converter(role, JSON, own)


def _decimal_format(random: Random) -> str:
    return random.choice(["numeric", "base64", "NUMERIC", "Base64"])


def spoilt(random: Random, config: Settings) -> Settings:
    """Settings with one that is likely to be refused."""
    key = random.choice(list(config))
    if key.endswith(".converter"):
        own = random.choice(
            [
                "decimal.format",
                "schemas.cache.size",
                "schemas.enable",
                "replace.null.with.default",
                "converter.type",
                "converter.encoding",
            ]
        )
        return {
            **config,
            f"{key}.{own}": random.choice(
                ["", "x", "0", "-1", " true ", "tru", "value", "key", "header", "UTF-8", "9" * 12]
            ),
        }
    less = {other: value for other, value in config.items() if other != key}
    return random.choice(
        [less, {**config, key: random.choice(["", "x", "a,,b", " ", "true", "1", "t0,t0", "p0,p0", ":"])}]
    )


def _converter(role: str, kind: str, own: Settings) -> Settings:
    return {f"{role}.converter": kind, **{f"{role}.converter.{key}": value for key, value in own.items()}}


def plain_converter(random: Random, role: str) -> Settings:
    """Any but JSON."""
    kind = random.choice([STRING, STRING, BYTES, *NUMBERS])
    own = _maybe(random, 0.4, converter__encoding=lambda r: r.choice(ODD["encodings"])) if kind == STRING else {}
    return _converter(role, kind, own)


def converter(random: Random, role: str) -> Settings:
    if role == "header" and random.random() < 0.4:
        return _converter(role, SIMPLE, {})
    if random.random() < 0.5:
        return json_converter(random, role, random.random() < 0.5)
    return plain_converter(random, role)
