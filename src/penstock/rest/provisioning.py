"""``/pipelines`` and the schema of pipeline files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from penstock.runtime.herder import Herder
from penstock.runtime.pipeline_files import PipelineFiles
from penstock.runtime.provisioning.documents import NATIVE, Document
from penstock.runtime.provisioning.shapes import Pipeline, PipelineFile, pipeline_schema

from .answers import Answer, ok
from .bodies import native_value
from .json_text import IntegerText, parse
from .problems import bad_request
from .request import Request
from .waiting import answer_of

MAX_DOCUMENTS = 100_000


class FileBody(msgspec.Struct, forbid_unknown_fields=True):
    """A document of a file. ``number`` counts the YAML documents of a file, from 0."""

    file: str
    document: PipelineFile
    number: Annotated[int, msgspec.Meta(ge=0, lt=MAX_DOCUMENTS)] = 0


class PlanBody(msgspec.Struct, forbid_unknown_fields=True):
    """Pipeline files as JSON: ``files``, or ``pipelines`` of one file without a name.

    ``paths`` are the files and folders they come from: what these declared and do no longer is deleted. ``adopt``
    lets them take over connectors that were made by the API.
    """

    files: list[FileBody] | None = None
    pipelines: list[Pipeline] | None = None
    paths: list[str] = []
    adopt: bool = False


class ApplyBody(PlanBody, forbid_unknown_fields=True):
    """The same, with the hash of the plan that is to be carried out; without it whatever the plan is now."""

    plan: str | None = None


class PipelinesRequest(msgspec.Struct):
    """A body that was read."""

    files: PipelineFiles
    adopt: bool
    plan: str | None


def plan_body(body: bytes) -> PipelinesRequest:
    return _request(parse(body), PlanBody)


def apply_body(body: bytes) -> PipelinesRequest:
    return _request(parse(body), ApplyBody)


async def plan_pipelines(herder: Herder, request: Request) -> Answer:
    wanted: PipelinesRequest = request.body
    return ok(await answer_of(herder.plan_pipelines(wanted.files, wanted.adopt)))


async def apply_pipelines(herder: Herder, request: Request) -> Answer:
    wanted: PipelinesRequest = request.body
    return ok(await answer_of(herder.apply_pipelines(wanted.files, wanted.plan, wanted.adopt)))


def list_pipelines(herder: Herder, request: Request) -> Answer:
    return ok(herder.pipelines())


def get_pipeline_schema(herder: Herder, request: Request) -> Answer:
    return ok(pipeline_schema())


def _request(value: Any, shape: type[PlanBody]) -> PipelinesRequest:
    """The shape of what is around the documents; what is wrong inside of them becomes a part of the plan."""
    if not isinstance(value, Mapping):
        raise bad_request("The request body must be an object with 'files' or 'pipelines'")
    unknown = [key for key in value if key not in shape.__struct_fields__]
    if unknown:
        known = ", ".join(shape.__struct_fields__)
        raise bad_request(f"Unknown key '{unknown[0]}' in the request body; there are {known}")
    files, pipelines = value.get("files"), value.get("pipelines")
    if (files is None) == (pipelines is None):
        raise bad_request("The request body must have either 'files' or 'pipelines'")
    documents = [Document("", {"pipelines": _plain(pipelines)})] if files is None else _documents(files)
    paths, adopt, plan = value.get("paths", []), value.get("adopt", False), value.get("plan")
    if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
        raise bad_request("'paths' must be a list of texts")
    if not isinstance(adopt, bool):
        raise bad_request("'adopt' must be true or false")
    if plan is not None and not isinstance(plan, str):
        raise bad_request("'plan' must be the hash of a plan")
    return PipelinesRequest(PipelineFiles(documents, roots=[str(path) for path in paths]), adopt, plan)


def _documents(files: Any) -> list[Document]:
    if not isinstance(files, list):
        raise bad_request("'files' must be a list")
    documents = []
    for number, entry in enumerate(files):
        if not isinstance(entry, Mapping) or not isinstance(entry.get("file"), str) or "document" not in entry:
            raise bad_request(f"files[{number}] must be an object with 'file' and 'document'")
        place = entry.get("number", IntegerText("0"))
        if not isinstance(place, IntegerText) or not 0 <= int(place) < MAX_DOCUMENTS:
            raise bad_request(f"files[{number}].number must be an integer from 0 on")
        documents.append(Document(str(entry["file"]), _plain(entry["document"]), int(place)))
    return documents


def _plain(value: Any) -> Any:
    """Numbers as they were written, but as numbers within offsets."""
    if isinstance(value, Mapping):
        return {key: native_value(item, key) if key == NATIVE else _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, str) else value
