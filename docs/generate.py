"""Writes docs/reference from the code, so that it cannot tell anything else than the code does: ``make docs``."""

from __future__ import annotations

import inspect
import json
import re
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from plugin_pages import NOTE, key_table, plugin_pages

from penstock.cli.main import app
from penstock.rest.metrics_catalog import SECTIONS
from penstock.rest.openapi import ALWAYS, REFUSALS, WITH_BODY, openapi_document
from penstock.rest.table import ROUTES
from penstock.runtime.distributed_keys import DISTRIBUTED_KEYS
from penstock.runtime.other_worker_keys import NOT_USED
from penstock.runtime.provisioning.shapes import pipeline_schema
from penstock.runtime.worker_keys import WORKER_KEYS

FOLDER = Path(__file__).parent / "reference"


def pages() -> dict[str, str]:
    """Path below ``docs/reference`` → text of every page of the reference."""
    return {
        "worker.md": worker_page(),
        **plugin_pages(),
        "cli.md": cli_page(),
        "rest.md": rest_page(),
        "metrics.md": metrics_page(),
        "pipeline.schema.json": json.dumps(pipeline_schema(), indent=2, ensure_ascii=False) + "\n",
    }


def worker_page() -> str:
    parts = [
        NOTE,
        "# Worker keys\n",
        "A worker file is a Java properties file. An empty one works. Keys that start with `spark.` go to Spark,"
        " `key.converter.`, `value.converter.` and `header.converter.` to the converters, `config.providers.` to the"
        " config providers. Unknown keys get a warning.\n",
    ]
    for group in WORKER_KEYS.groups:
        parts += [f"## {group}\n", key_table(key for key in WORKER_KEYS.keys if key.group == group)]
    parts.append("# Keys of workers of a cluster\n")
    parts.append("For `penstock distributed`; see [a cluster of workers](../guides/distributed.md).\n")
    for group in DISTRIBUTED_KEYS.groups:
        parts += [f"## {group}\n", key_table(key for key in DISTRIBUTED_KEYS.keys if key.group == group)]
    parts.append("## Kafka Connect's keys without an effect here\n")
    parts.append("They may stay in the file; the worker says at its start that they are not used.\n")
    parts.append("| Key | Why |\n|---|---|\n" + "".join(f"| `{key}` | {why} |\n" for key, why in NOT_USED.items()))
    return "\n".join(parts)


def cli_page() -> str:
    parts = [NOTE, "# Command line\n"]
    commands = [("", command) for command in app.registered_commands]
    for group in app.registered_groups:
        found = group.typer_instance.registered_commands if group.typer_instance else []
        commands += [(f"{group.name} ", command) for command in found]
    for prefix, command in commands:
        function = command.callback
        if function is None:
            continue
        text = re.sub(r"\[/?[a-z ]*\]", "", inspect.getdoc(function) or "")
        parts += [
            f"## penstock {prefix}{command.name or function.__name__}\n",
            f"{_as_markdown(text)}\n",
            _parameters(function),
        ]
    return "\n".join(parts)


def _as_markdown(text: str) -> str:
    """Indented example lines become one code block."""
    text = re.sub(r"\n\n(?=  penstock )", "\n", text)
    return re.sub(
        r"(?:^  penstock .*\n?)+", lambda block: "\n```\n" + inspect.cleandoc(block[0]) + "\n```\n", text, flags=re.M
    )


def _parameters(function: typing.Callable[..., object]) -> str:
    rows = []
    for name, hint in typing.get_type_hints(function, include_extras=True).items():
        for info in getattr(hint, "__metadata__", ()):
            first = [info.default] if isinstance(info.default, str) else []
            shown = ", ".join([*first, *(info.param_decls or ())]) or info.metavar or name.upper()
            rows.append(f"| `{shown}` | {info.help} |\n")
    return "| Argument or option | Meaning |\n|---|---|\n" + "".join(rows) if rows else ""


def rest_page() -> str:
    document = openapi_document(ROUTES, "")
    del document["paths"]["/openapi.json"]
    parts = [
        NOTE,
        "# REST API\n",
        "Kafka Connect's API and what Penstock adds to it. `GET /openapi.json` serves the same as an OpenAPI document."
        ' Every error is `{"error_code": …, "message": …}`.\n',
        "| Method | Path | What it does |\n|---|---|---|\n"
        + "".join(f"| `{route.method}` | `{route.path}` | {route.summary} |\n" for route in ROUTES),
        "Any request may be answered with one of these; with a body also those of the second row. They are not repeated"
        " below.\n",
        "| | |\n|---|---|\n" + "".join(f"| {title} | {_codes(codes)} |\n" for title, codes in _COMMON),
    ]
    tag = None
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            if operation["tags"][0] != tag:
                tag = operation["tags"][0]
                parts.append(f"## {tag.capitalize()}\n")
            parts += _endpoint(method, path, operation)
    parts.append("## Shapes of bodies and answers\n")
    for name, shape in document["components"]["schemas"].items():
        parts += _shape(name, shape)
    return "\n".join(parts)


_COMMON = (
    ("always", ALWAYS),
    ("with a body", {**WITH_BODY, 415: "The request is not JSON"}),
    ("from a browser", {403: "A page of another origin, or a name that is not the worker's"}),
    ("where there are users", REFUSALS),
)


def _codes(codes: Mapping[Any, str]) -> str:
    return "; ".join(f"{code}: {meaning}" for code, meaning in codes.items())


def _endpoint(method: str, path: str, operation: Mapping[str, Any]) -> list[str]:
    parts = [f"### `{method.upper()} {path}`\n", f"{operation['summary']}.\n"]
    if operation["parameters"]:
        rows = "".join(_parameter_row(parameter) for parameter in operation["parameters"])
        parts.append("| Parameter | In | Type | Default | Meaning |\n|---|---|---|---|---|\n" + rows)
    body = operation.get("requestBody")
    if body is not None:
        content = body["content"]["application/json"]
        example = json.dumps(content["example"], indent=2, ensure_ascii=False)
        parts += [f"Body: {_type(content['schema'])}, for example\n", f"```json\n{example}\n```\n"]
    common = {str(code) for code in (*ALWAYS, *WITH_BODY, 415)}
    own = {code: one for code, one in operation["responses"].items() if code not in common or _is_success(one)}
    rows = "".join(f"| {code} | {one['description']} | {_answer(one)} |\n" for code, one in own.items())
    return [*parts, "| Status | Meaning | Body |\n|---|---|---|\n" + rows]


def _is_success(response: Mapping[str, Any]) -> bool:
    """Whether a response has a shape of its own."""
    return _answer(response) != _type({"$ref": "#/components/schemas/ErrorMessage"})


def _answer(response: Mapping[str, Any]) -> str:
    content = response.get("content", {}).get("application/json")
    return "-" if content is None else _type(content["schema"])


def _parameter_row(parameter: Mapping[str, Any]) -> str:
    schema = parameter["schema"]
    default = f"`{json.dumps(schema['default'])}`" if "default" in schema else "-"
    bounds = [f"{word} {schema[key]}" for key, word in (("minimum", "from"), ("maximum", "to")) if key in schema]
    shown = " ".join([_type(schema), *bounds])
    return f"| `{parameter['name']}` | {parameter['in']} | {shown} | {default} | {parameter['description']} |\n"


def _shape(name: str, shape: Mapping[str, Any]) -> list[str]:
    text = re.sub(r"`+", "`", " ".join(shape.get("description", "").split()))
    needed = shape.get("required", ())
    rows = "".join(
        f"| `{field}` | {_type(schema)} | {'yes' if field in needed else 'no'} |\n"
        for field, schema in shape.get("properties", {}).items()
    )
    table = ["| Field | Type | Required |\n|---|---|---|\n" + rows] if rows else []
    return [f"### {name}\n", *([f"{text}\n"] if text else []), *table]


def _type(schema: Mapping[str, Any]) -> str:
    """A JSON Schema in words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(_type(one) for one in schema["anyOf"])
    if "enum" in schema:
        return " or ".join(f"`{one}`" for one in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_type(schema['items'])}" if "items" in schema else "list"
    if isinstance(schema.get("additionalProperties"), Mapping) and schema["additionalProperties"]:
        return f"object of {_type(schema['additionalProperties'])}"
    return str(schema.get("type", "any"))


def metrics_page() -> str:
    parts = [
        NOTE,
        "# Metrics\n",
        "`GET /metrics` answers in the text format of Prometheus. Kafka Connect's metrics have their names, in snake"
        " case, behind `kafka_connect_`; what only Penstock has begins with `penstock_`. See"
        " [monitoring](../guides/monitoring.md).\n",
        "Counters of a task begin anew when it is restarted. Rates, averages and maxima look at the last 30 to 60"
        " seconds.\n",
    ]
    for section in SECTIONS:
        parts.append(f"## {section.title}\n")
        if section.everywhere:
            parts.append("Every worker of a cluster tells these for the whole cluster.\n")
        rows = "".join(
            f"| `{metric.name}` | {metric.kind} | {', '.join(metric.labels) or '-'} | {metric.help} |\n"
            for metric in section.metrics
        )
        parts.append("| Metric | Kind | Labels | Meaning |\n|---|---|---|---|\n" + rows)
    return "\n".join(parts)


def main() -> None:
    made = pages()
    for old in FOLDER.rglob("*"):
        if old.is_file() and str(old.relative_to(FOLDER)) not in made:
            old.unlink()
    for name, text in made.items():
        (FOLDER / name).parent.mkdir(parents=True, exist_ok=True)
        (FOLDER / name).write_text(text)
        print(f"wrote {FOLDER.name}/{name}")


if __name__ == "__main__":
    main()
