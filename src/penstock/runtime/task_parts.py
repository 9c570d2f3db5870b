"""The plugins that a task is made of, as its metrics name them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.spark.splits import PluginRef, TaskSpec


@dataclass(frozen=True)
class Part:
    """One plugin."""

    class_name: str
    version: str


@dataclass(frozen=True)
class TaskParts:
    """``roles`` are the task itself and its converters; ``transforms`` and ``predicates`` go by their aliases."""

    roles: Mapping[str, Part]
    transforms: Mapping[str, Part]
    predicates: Mapping[str, Part]

    @classmethod
    def of(cls, spec: TaskSpec) -> TaskParts:
        roles = {
            "task": spec.task_target,
            "key_converter": spec.key_converter,
            "value_converter": spec.value_converter,
            "header_converter": spec.header_converter,
        }
        tests = {link.predicate_alias: link.predicate for link in spec.transforms if link.predicate is not None}
        return cls(_parts(roles), _parts({link.alias: link.transform for link in spec.transforms}), _parts(tests))


def _parts(plugins: Mapping[str, PluginRef]) -> dict[str, Part]:
    return {name: Part(plugin.target, plugin.version) for name, plugin in plugins.items()}
