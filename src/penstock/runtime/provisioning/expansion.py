"""The readable list of transforms, as the keys of a configuration."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .checks import Report
from .shapes import Predicate, Transform

OWNED = ("transforms", "predicates")


def expand_transforms(
    transforms: Sequence[Transform | None], path: str, report: Report
) -> Iterator[tuple[str, str, str]]:
    """(key, value, path) of everything the list stands for, ``transforms`` and ``predicates`` included."""
    known = [(number, transform) for number, transform in enumerate(transforms) if transform is not None]
    first: dict[str, int] = {}
    predicates: dict[str, str] = {}
    for number, transform in known:
        place = f"{path}[{number}]"
        if transform.name in first:
            message = f"The transform '{transform.name}' is already declared in {path}[{first[transform.name]}]."
            report(f"{place}.name", message, "Give it another name.")
            continue
        first[transform.name] = number
        prefix = f"transforms.{transform.name}."
        yield prefix + "type", transform.class_, f"{place}.class"
        for key, value in transform.config.items():
            yield prefix + key, str(value), f"{place}.config.{key}"
        if transform.predicate is not None:
            alias = transform.predicate.name or f"{transform.name}-predicate"
            yield prefix + "predicate", alias, f"{place}.predicate"
            if transform.predicate.negate:
                yield prefix + "negate", "true", f"{place}.predicate.negate"
            if alias not in predicates:
                yield from _predicate(alias, transform.predicate, f"{place}.predicate")
            predicates.setdefault(alias, place)
    if first:
        yield "transforms", ",".join(first), path
    if predicates:
        yield "predicates", ",".join(predicates), path


def _predicate(alias: str, predicate: Predicate, path: str) -> Iterator[tuple[str, str, str]]:
    yield f"predicates.{alias}.type", predicate.class_, f"{path}.class"
    for key, value in predicate.config.items():
        yield f"predicates.{alias}.{key}", str(value), f"{path}.config.{key}"
