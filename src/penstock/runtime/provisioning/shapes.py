"""What a pipeline file looks like. The JSON Schema and the checks of files are both made from these types."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, field

Status = Literal["running", "paused", "stopped"]
Text = Annotated[str, Meta(min_length=1)]
Values = dict[str, str | int | float | bool]

_Id = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$",
        description="What the pipeline is called, on one worker only once.",
    ),
]
_Class = Annotated[str, Meta(min_length=1, description="The plugin: Kafka Connect's class, an alias or a Python path.")]
_Status = Annotated[
    Status,
    Meta(description="What it should do. Left out: it runs when it is created, and is then left as the API put it."),
]
_Config = Annotated[Values, Meta(description="Configuration keys. ${env:NAME} and the like are resolved by the worker")]


class Predicate(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Chooses the records that a transform works on."""

    class_: _Class = field(name="class")
    config: _Config = {}
    name: Annotated[Text | None, Meta(description="Its alias; made from the transform's name if left out.")] = None
    negate: Annotated[bool, Meta(description="Choose the records that do not match instead.")] = False


class Transform(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """One step of a connector's transforms, which are applied in the order they are written."""

    name: Annotated[Text, Meta(description="Its alias: transforms.<name>.*")]
    class_: _Class = field(name="class")
    config: _Config = {}
    predicate: Predicate | None = None


class Offset(Struct, forbid_unknown_fields=True):
    """Where to begin in one partition."""

    partition: dict[str, Any]
    offset: dict[str, Any] | None


class Connector(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A connector."""

    name: Annotated[Text, Meta(description="The name of the connector, on one worker only once.")]
    class_: Annotated[_Class | None, Meta(description="Short for connector.class in config.")] = field(
        name="class", default=None
    )
    config: _Config = {}
    transforms: list[Transform] = []
    offsets: Annotated[
        list[Offset], Meta(description="Where it begins when it is created. Later they are the connector's own.")
    ] = []
    status: Annotated[_Status | None, Meta(description="Wins over the pipeline's.")] = None


class Topic(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A topic that is there before the connectors start. Topics are never deleted."""

    name: Text
    partitions: Annotated[int, Meta(ge=1, description="Cannot be changed later.")] | None = None
    retention: Annotated[
        str | None, Meta(description="How long records are kept: 30m, 12h, 7d, forever. Short for retention.ms.")
    ] = None
    settings: Annotated[Values, Meta(description="Kafka's topic settings, such as cleanup.policy.")] = {}


class Pipeline(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Connectors that belong together, and the topics between them."""

    id: _Id
    description: Annotated[str, Meta(max_length=8192)] = ""
    status: _Status | None = None
    connectors: list[Connector] = []
    topics: list[Topic] = []


class PipelineFile(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A pipeline file of Penstock. Keys that start with x- are for notes and YAML anchors."""

    pipelines: list[Pipeline]
    version: Annotated[Literal["1", 1], Meta(description="The version of the format.")] = "1"


def pipeline_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of a pipeline file, for editors and CI."""
    schema = msgspec.json.schema(PipelineFile, ref_template="#/$defs/{name}")
    definitions = schema["$defs"]
    root = definitions.pop("PipelineFile")
    root["patternProperties"] = {"^x-": {}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Penstock pipeline file",
        **{key: value for key, value in root.items() if key != "title"},
        "$defs": dict(sorted(definitions.items())),
    }
