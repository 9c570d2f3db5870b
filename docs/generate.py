"""Writes docs/reference from the code, so that it cannot tell anything else than the code does: ``make docs``."""

from __future__ import annotations

import inspect
import json
import re
import typing
from collections.abc import Iterable
from pathlib import Path

from penstock.api.config import ConfigDef, ConfigKey
from penstock.cli.main import app
from penstock.rest.metrics_catalog import SECTIONS
from penstock.rest.table import ROUTES
from penstock.runtime.distributed_keys import DISTRIBUTED_KEYS
from penstock.runtime.other_worker_keys import NOT_USED
from penstock.runtime.plugins import PluginEntry, PluginKind, Plugins
from penstock.runtime.provisioning.shapes import pipeline_schema
from penstock.runtime.restart_policy import RESTART_KEYS
from penstock.runtime.worker_keys import WORKER_KEYS

FOLDER = Path(__file__).parent / "reference"
NOTE = "<!-- Written by docs/generate.py from the code. Change the code, then run: make docs -->\n"

KINDS = {
    PluginKind.SOURCE: "Source connectors",
    PluginKind.SINK: "Sink connectors",
    PluginKind.TRANSFORMATION: "Transforms",
    PluginKind.PREDICATE: "Predicates",
    PluginKind.CONVERTER: "Converters",
    PluginKind.HEADER_CONVERTER: "Header converters",
    PluginKind.CONFIG_PROVIDER: "Config providers",
}


def pages() -> dict[str, str]:
    """File name → text of every page of the reference."""
    return {
        "worker.md": worker_page(),
        "plugins.md": plugins_page(),
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
        parts += [f"## {group}\n", _key_table(key for key in WORKER_KEYS.keys if key.group == group)]
    parts.append("# Keys of workers of a cluster\n")
    parts.append("For `penstock distributed`; see [a cluster of workers](../guides/distributed.md).\n")
    for group in DISTRIBUTED_KEYS.groups:
        parts += [f"## {group}\n", _key_table(key for key in DISTRIBUTED_KEYS.keys if key.group == group)]
    parts.append("## Kafka Connect's keys without an effect here\n")
    parts.append("They may stay in the file; the worker says at its start that they are not used.\n")
    parts.append("| Key | Why |\n|---|---|\n" + "".join(f"| `{key}` | {why} |\n" for key, why in NOT_USED.items()))
    return "\n".join(parts)


def plugins_page() -> str:
    plugins = Plugins().all()
    parts = [
        NOTE,
        "# Plugins\n",
        "The plugins that come with Penstock, with their own keys. A configuration may name a plugin by any of the"
        " names shown: Kafka Connect's class, the short alias, the Python path.\n",
    ]
    parts += [
        "## Keys of every connector that only Penstock has\n",
        "See [automatic restarts](../guides/monitoring.md#automatic-restarts).\n",
        _key_table(RESTART_KEYS.keys),
    ]
    for kind, title in KINDS.items():
        found = [entry for entry in plugins if entry.kind is kind]
        if found:
            parts.append(f"## {title}\n")
            parts += [_plugin(entry) for entry in found]
    return "\n".join(parts)


def _plugin(entry: PluginEntry) -> str:
    plugin = entry.load()
    config: ConfigDef = getattr(plugin, "config", None) or ConfigDef()
    names = dict.fromkeys([entry.name, entry.target.replace(":", ".")])
    about = (inspect.getdoc(plugin) or "").split("\n\n")[0].replace("\n", " ")
    parts = [
        f"### {entry.name.rsplit('.', 1)[-1]}\n",
        f"{about}\n",
        f"Names: {', '.join(f'`{name}`' for name in names)}\n",
    ]
    if len(config):
        parts.append(_key_table(config.keys))
    return "\n".join(parts)


def _key_table(keys: Iterable[ConfigKey]) -> str:
    rows = ["| Key | Type | Default | Importance | Meaning |\n|---|---|---|---|---|\n"]
    for key in keys:
        default = "*required*" if key.required else _code(key.default_text)
        meaning = key.doc.replace("|", "\\|").replace("\n", " ")
        rows.append(
            f"| `{key.name}` | {key.type.value.lower()} | {default} | {key.importance.value.lower()} | {meaning} |\n"
        )
    return "".join(rows)


def _code(text: str | None) -> str:
    return "*none*" if text is None else "*empty*" if text == "" else f"`{text}`"


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
    rows = "".join(
        f"| `{route.method}` | `{route.path}` | {route.summary} | {', '.join(map(str, route.replies))} |\n"
        for route in ROUTES
    )
    return "\n".join(
        [
            NOTE,
            "# REST API\n",
            "Kafka Connect's API. `GET /openapi.json` serves it as an OpenAPI document, with bodies and errors. Every"
            ' error is `{"error_code": …, "message": …}`.\n',
            "| Method | Path | What it does | Success |\n|---|---|---|---|\n" + rows,
        ]
    )


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
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text)
        print(f"wrote {FOLDER.name}/{name}")


if __name__ == "__main__":
    main()
