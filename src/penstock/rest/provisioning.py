"""``/pipelines`` and the schema of pipeline files."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

import msgspec

from penstock.runtime.herder import Herder
from penstock.runtime.pipeline_files import PipelineFiles
from penstock.runtime.provisioning.documents import NATIVE, Document, parse_documents
from penstock.runtime.provisioning.plan import Plan
from penstock.runtime.provisioning.planning import located
from penstock.runtime.provisioning.shapes import Pipeline, PipelineFile, pipeline_schema

from .answers import Answer, ok
from .bodies import native_value
from .json_text import IntegerText, parse
from .problems import bad_request
from .request import Request
from .waiting import answer_of

MAX_DOCUMENTS = 100_000


class FileBody(msgspec.Struct, forbid_unknown_fields=True):
    """A document of a file, or with ``text`` a whole file in YAML or JSON.

    ``number`` counts the YAML documents of a file, from 0.
    """

    file: str
    document: PipelineFile | None = None
    text: str | None = None
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
    """The same, with the hash of the plan that is to be carried out; without it whatever the plan is now.

    With ``delete_many`` it is done however many connectors it deletes.
    """

    plan: str | None = None
    delete_many: bool = False


class PipelinesRequest(msgspec.Struct):
    """A body that was read; ``texts`` are whole files by their names, which were not parsed yet."""

    files: PipelineFiles
    texts: list[tuple[str, str]]
    adopt: bool
    plan: str | None
    delete_many: bool

    async def all_files(self) -> PipelineFiles:
        """All files. YAML may be slow to parse: that is done on a thread."""
        if self.texts:
            await asyncio.to_thread(self._parse)
        return self.files

    def _parse(self) -> None:
        for file, text in self.texts:
            documents, problems = parse_documents(text, file)
            self.files.documents += documents
            self.files.problems += problems
            if problems:
                self.files.unread.add(file)
        self.texts = []


def plan_body(body: bytes) -> PipelinesRequest:
    return _request(parse(body), PlanBody)


def apply_body(body: bytes) -> PipelinesRequest:
    return _request(parse(body), ApplyBody)


async def plan_pipelines(herder: Herder, request: Request) -> Answer:
    wanted: PipelinesRequest = request.body
    files = await wanted.all_files()
    return ok(_with_lines(await answer_of(herder.plan_pipelines(files, wanted.adopt)), files))


async def apply_pipelines(herder: Herder, request: Request) -> Answer:
    wanted: PipelinesRequest = request.body
    files = await wanted.all_files()
    applying = herder.apply_pipelines(files, wanted.plan, wanted.adopt, wanted.delete_many)
    return ok(_with_lines(await answer_of(applying), files))


def _with_lines(plan: Plan, files: PipelineFiles) -> Plan:
    """Problems with their lines, which are known of files that came as text."""
    return replace(plan, problems=located(plan.problems, files.documents)) if plan.problems else plan


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
    unnamed = PipelineFiles([Document("", {"pipelines": _plain(pipelines)})])
    read, texts = (unnamed, []) if files is None else _files(files)
    paths, adopt, plan = value.get("paths", []), value.get("adopt", False), value.get("plan")
    if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
        raise bad_request("'paths' must be a list of texts")
    delete_many = value.get("delete_many", False)
    for key, flag in (("adopt", adopt), ("delete_many", delete_many)):
        if not isinstance(flag, bool):
            raise bad_request(f"'{key}' must be true or false")
    if plan is not None and not isinstance(plan, str):
        raise bad_request("'plan' must be the hash of a plan")
    read.roots = [str(path) for path in paths]
    return PipelinesRequest(read, texts, adopt, plan, delete_many)


def _files(files: Any) -> tuple[PipelineFiles, list[tuple[str, str]]]:
    if not isinstance(files, list):
        raise bad_request("'files' must be a list")
    read = PipelineFiles()
    texts: list[tuple[str, str]] = []
    for number, entry in enumerate(files):
        whole = isinstance(entry, Mapping) and isinstance(entry.get("file"), str)
        if not whole or ("document" in entry) == ("text" in entry):
            raise bad_request(
                f"files[{number}] must be an object with 'file' and 'document', or with 'file' and 'text'"
            )
        if "text" in entry:
            if type(entry["text"]) is not str:
                raise bad_request(f"files[{number}].text must be a text")
            texts.append((str(entry["file"]), entry["text"]))
            continue
        place = entry.get("number", IntegerText("0"))
        if not isinstance(place, IntegerText) or not 0 <= int(place) < MAX_DOCUMENTS:
            raise bad_request(f"files[{number}].number must be an integer from 0 on")
        read.documents.append(Document(str(entry["file"]), _plain(entry["document"]), int(place)))
    return read, texts


def _plain(value: Any) -> Any:
    """Numbers as they were written, but as numbers within offsets."""
    if isinstance(value, Mapping):
        return {key: native_value(item, key) if key == NATIVE else _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, str) else value
