"""Documents to what they want; everything that is wrong is collected."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from penstock.runtime.requests import OffsetEntry, TargetState
from penstock.topics.errors import TopicError
from penstock.topics.settings import TopicSettings, check_name

from .checks import Report, as_text, fitted, reporter
from .desired import Desired, DesiredConnector, DesiredPipeline, DesiredTopic, Place, Scope
from .documents import Document
from .expansion import OWNED, expand_transforms
from .problems import Problem
from .shapes import Connector, Pipeline, PipelineFile, Topic

STATES = {"running": TargetState.STARTED, "paused": TargetState.PAUSED, "stopped": TargetState.STOPPED}
_DURATION = re.compile(r"(\d{1,12})\s*(ms|s|m|h|d|w)")
_MILLISECONDS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}


def read_documents(
    documents: Iterable[Document], scope: Scope, problems: Sequence[Problem] = (), unread: Iterable[str] = ()
) -> Desired:
    """What documents want together. ``problems`` and ``unread`` are of files that gave no document."""
    documents = list(documents)
    known = {(document.file, document.number) for document in documents}
    found = [problem for problem in problems if (problem.file, problem.document) not in known]
    pipelines: list[DesiredPipeline] = []
    broken: set[str] = set(unread)
    for document in documents:
        own = [problem for problem in problems if (problem.file, problem.document) == (document.file, document.number)]
        whole, read = _document(document, own)
        if not whole:
            broken.add(document.file)
        pipelines += read
        found += [problem.located(document.places) for problem in own]
    repeated = list(_repeated_ids(pipelines)) + list(_repeated_names(pipelines)) + list(_unequal_topics(pipelines))
    places = {(document.file, document.number): document.places for document in documents}
    found += [problem.located(places.get((problem.file, problem.document), {})) for problem in repeated]
    return Desired(pipelines, scope, found, frozenset(broken))


def _document(document: Document, problems: list[Problem]) -> tuple[bool, list[DesiredPipeline]]:
    """Whether the document could be understood as a whole, and its pipelines."""
    report = reporter(problems, document.file, document.number)
    file = fitted(PipelineFile, document.value, "", report)
    _name_pipelines(problems, document)
    if file is None:
        return False, []
    whole = all(pipeline is not None for pipeline in file.pipelines)
    read = []
    for number, pipeline in enumerate(file.pipelines):
        if pipeline is not None:
            before = len(problems)
            read.append(_pipeline(pipeline, Place(document.file, document.number, f"pipelines[{number}]"), report))
            problems[before:] = [replace(problem, pipeline=pipeline.id) for problem in problems[before:]]
    return whole, read


def _name_pipelines(problems: list[Problem], document: Document) -> None:
    """Say of each problem which pipeline it spoils."""
    value = document.value
    listed = value.get("pipelines") if isinstance(value, Mapping) else None
    for place, problem in enumerate(problems):
        inside = re.match(r"pipelines\[(\d+)\]", problem.path)
        if inside and isinstance(listed, list):
            pipeline = listed[int(inside[1])]
            name = pipeline.get("id") if isinstance(pipeline, Mapping) else None
            if isinstance(name, str):
                problems[place] = replace(problem, pipeline=name)


def _pipeline(pipeline: Pipeline, place: Place, report: Report) -> DesiredPipeline:
    connectors = [
        _connector(connector, pipeline, replace(place, path=f"{place.path}.connectors[{number}]"), report)
        for number, connector in enumerate(pipeline.connectors)
        if connector is not None
    ]
    topics = [
        _topic(topic, pipeline.id, replace(place, path=f"{place.path}.topics[{number}]"), report)
        for number, topic in enumerate(pipeline.topics)
        if topic is not None
    ]
    return DesiredPipeline(pipeline.id, place, connectors, topics)


def _connector(connector: Connector, pipeline: Pipeline, place: Place, report: Report) -> DesiredConnector:
    config: dict[str, str | None] = {"name": connector.name}
    paths = {"name": f"{place.path}.name"}
    for key, value in connector.config.items():
        text = as_text(value)
        path = f"{place.path}.config.{key}"
        if config.setdefault(key, text) != text:
            report(path, f"The name is '{connector.name}' above, but '{text}' here.", "Leave it out here.")
        paths.setdefault(key, path)
    _add_class(connector, config, paths, place.path, report)
    if connector.transforms:
        for key in [key for key in config if key in OWNED or key.startswith(tuple(f"{part}." for part in OWNED))]:
            report(paths[key], f"'{key}' and the list 'transforms' say the same.", "Write one of them.")
        for key, text, path in expand_transforms(connector.transforms, f"{place.path}.transforms", report):
            config[key] = text
            paths[key] = path
    status = connector.status or pipeline.status
    return DesiredConnector(
        name=connector.name,
        pipeline=pipeline.id,
        config=config,
        state=None if status is None else STATES[status],
        place=replace(place, paths=paths),
        offsets=[OffsetEntry(entry.partition, entry.offset) for entry in connector.offsets if entry is not None],
        description=pipeline.description,
    )


def _add_class(
    connector: Connector, config: dict[str, str | None], paths: dict[str, str], path: str, report: Report
) -> None:
    given = config.get("connector.class")
    if connector.class_ is None and given is None:
        report(path, "The key 'class' is missing: every connector has one.", "GET /connector-plugins lists them.")
    elif connector.class_ is not None:
        if given is not None and given != connector.class_:
            message = f"The class is '{connector.class_}' above, but '{given}' here."
            report(paths["connector.class"], message, "Write one of them.")
        config["connector.class"] = connector.class_
        paths["connector.class"] = f"{path}.class"


def _topic(topic: Topic, pipeline: str, place: Place, report: Report) -> DesiredTopic:
    settings = {key: as_text(value) for key, value in topic.settings.items()}
    if topic.retention is not None:
        kept = _retention(topic.retention)
        if kept is None:
            hint = "Write a number and ms, s, m, h, d or w, such as 7d, or 'forever'."
            report(f"{place.path}.retention", f"'{topic.retention}' is no length of time.", hint)
        elif settings.setdefault("retention.ms", str(kept)) != str(kept):
            report(f"{place.path}.retention", "'retention.ms' in settings says something else.", "Write one of them.")
    try:
        check_name(topic.name)
        TopicSettings.parse(topic.name, settings)
    except TopicError as error:
        report(place.path, f"{error}.", "")
    return DesiredTopic(topic.name, pipeline, topic.partitions, settings, place)


def _retention(text: str) -> int | None:
    if text == "forever":
        return -1
    found = _DURATION.fullmatch(text)
    return int(found[1]) * _MILLISECONDS[found[2]] if found else None


def _repeated_ids(pipelines: Sequence[DesiredPipeline]) -> Iterable[Problem]:
    """Every copy is wrong: nobody can tell which one is meant."""
    count = Counter(pipeline.id for pipeline in pipelines)
    for pipeline in pipelines:
        if count[pipeline.id] > 1:
            others = sorted({other.place.file for other in pipelines if other.id == pipeline.id})
            place = replace(pipeline.place, path=f"{pipeline.place.path}.id")
            message = f"{count[pipeline.id]} pipelines are called '{pipeline.id}', in {', '.join(others)}."
            yield place.problem(message, "Give each its own id.", pipeline=pipeline.id)


def _repeated_names(pipelines: Sequence[DesiredPipeline]) -> Iterable[Problem]:
    declared = [connector for pipeline in pipelines for connector in pipeline.connectors]
    count = Counter(connector.name for connector in declared)
    for connector in declared:
        if count[connector.name] > 1:
            others = sorted({other.pipeline for other in declared if other.name == connector.name})
            message = f"{count[connector.name]} connectors are called '{connector.name}', in {', '.join(others)}."
            yield connector.place.problem(message, "Give each its own name.", "name", connector.pipeline)


def _unequal_topics(pipelines: Sequence[DesiredPipeline]) -> Iterable[Problem]:
    first: dict[str, DesiredTopic] = {}
    for topic in (topic for pipeline in pipelines for topic in pipeline.topics):
        known = first.setdefault(topic.name, topic)
        if (known.partitions, known.settings) != (topic.partitions, topic.settings):
            message = f"The topic '{topic.name}' is declared differently in pipeline '{known.pipeline}'."
            yield topic.place.problem(message, "Declare it once, or alike.", pipeline=topic.pipeline)
