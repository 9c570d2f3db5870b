"""The OpenAPI 3.1 document, made from the route table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from .problems import ErrorMessage
from .routing import Parameter, Reply, Route

_REF = "#/components/schemas/{name}"
ALWAYS = {
    400: "The request cannot be understood",
    406: "The client does not take JSON",
    414: "The path or query is too long",
    500: "The worker could not do it",
}
WITH_BODY = {
    408: "The body did not arrive in time",
    413: "The body is too large",
}
_SCHEMES = {"password": {"type": "http", "scheme": "basic"}, "token": {"type": "http", "scheme": "bearer"}}
REFUSALS = {
    "401": "Credentials are missing or wrong",
    "403": "The user may only read",
    "429": "Too many wrong passwords came from this address",
}
_PATH_PARAMETERS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "connector": ("Name of a connector, percent-encoded", {"type": "string", "minLength": 1}),
    "cleanup": ("Id of a clean-up", {"type": "string", "minLength": 1}),
    "topic": ("Name of a topic", {"type": "string", "minLength": 1}),
    "plugin": ("Class name or alias of a plugin", {"type": "string", "minLength": 1}),
    "logger": ("Name of a logger, or root", {"type": "string", "minLength": 1}),
    "task": ("Number of a task", {"type": "integer", "format": "int32"}),
}


def openapi_document(routes: Iterable[Route], version: str, with_users: bool = False) -> dict[str, Any]:
    """The whole document; equal routes give an equal document, key for key.

    ``with_users``: that of a worker that asks for credentials.
    """
    table = list(routes)
    shapes = list(_shapes(table))
    schemas, components = msgspec.json.schema_components(shapes, ref_template=_REF)
    schema_of = {repr(shape): schema for shape, schema in zip(shapes, schemas, strict=True)}
    links = _links(table)
    paths: dict[str, dict[str, Any]] = {}
    for route in table:
        operation = paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schema_of, links)
        if with_users:
            refusals = {code: _content(text, schema_of[repr(ErrorMessage)]) for code, text in REFUSALS.items()}
            operation["responses"] = {**refusals, **operation["responses"]}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Penstock",
            "description": "Connectors over HTTP: Kafka Connect's REST API and what Penstock adds to it.",
            "version": version,
        },
        "paths": {**paths, "/openapi.json": {"get": _document_operation()}},
        "components": {
            "schemas": dict(sorted(components.items())),
            **({"securitySchemes": _SCHEMES} if with_users else {}),
        },
        **({"security": [{name: []} for name in _SCHEMES]} if with_users else {}),
    }


def _shapes(routes: Iterable[Route]) -> Iterator[Any]:
    seen: set[str] = set()
    wanted = [ErrorMessage]
    for route in routes:
        wanted += [reply.shape for reply in route.replies.values()]
        wanted += [route.body.shape] if route.body else []
    for shape in wanted:
        if shape is not None and repr(shape) not in seen:
            seen.add(repr(shape))
            yield shape


def _operation(route: Route, schema_of: Mapping[str, Any], links: Mapping[str, Any]) -> dict[str, Any]:
    error = schema_of[repr(ErrorMessage)]
    errors = {**ALWAYS, **(WITH_BODY if route.body else {}), **route.errors}
    if route.json_only:
        errors[415] = "The request is not JSON"
    if "{task}" in route.path:
        errors.setdefault(404, "No such task")
    responses = {code: _content(meaning, error) for code, meaning in errors.items()}
    for code, reply in route.replies.items():
        responses[code] = _success(reply, schema_of, links)
    operation: dict[str, Any] = {
        "operationId": route.handler.__name__,
        "summary": route.summary,
        "tags": [route.segments[0] if route.segments else "worker"],
        "parameters": [*_path_parameters(route), *map(_parameter, route.parameters)],
        "responses": {str(code): responses[code] for code in sorted(responses)},
    }
    if route.body:
        content = {"schema": schema_of[repr(route.body.shape)], "example": route.body.example}
        operation["requestBody"] = {"required": True, "content": {"application/json": content}}
    return operation


def _content(meaning: str, schema: Any) -> dict[str, Any]:
    return {"description": meaning, "content": {"application/json": {"schema": schema}}}


def _links(routes: Iterable[Route]) -> dict[str, Any]:
    """What can be done next with a connector that was just created."""
    return {
        route.handler.__name__: {
            "operationId": route.handler.__name__,
            "parameters": {"connector": "$response.body#/name", **({"task": "0"} if "{task}" in route.path else {})},
        }
        for route in routes
        if "{connector}" in route.path
    }


def _success(reply: Reply, schema_of: Mapping[str, Any], links: Mapping[str, Any]) -> dict[str, Any]:
    if reply.shape is None:
        return {"description": reply.meaning}
    shown = _content(reply.meaning, schema_of[repr(reply.shape)])
    if reply.location:
        shown["headers"] = {"Location": {"description": "URL of the connector", "schema": {"type": "string"}}}
        shown["links"] = dict(links)
    return shown


def _path_parameters(route: Route) -> Iterator[dict[str, Any]]:
    for segment in route.segments:
        if segment.startswith("{"):
            description, schema = _PATH_PARAMETERS[segment[1:-1]]
            yield {
                "name": segment[1:-1],
                "in": "path",
                "required": True,
                "description": description,
                "schema": dict(schema),
            }


def _parameter(parameter: Parameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "in": parameter.place,
        "required": parameter.required,
        "description": parameter.description,
        "schema": dict(parameter.schema),
    }


def _document_operation() -> dict[str, Any]:
    return {
        "operationId": "openapi",
        "summary": "This document",
        "tags": ["worker"],
        "responses": {"200": _content("The document", {"type": "object"})},
    }
