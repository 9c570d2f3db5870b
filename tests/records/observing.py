"""Plugins that remember which of their forms for columns really took records, otherwise the shipped ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import pyarrow as pa

from penstock.api import Batch, Converter, Predicate, Transform
from penstock.api.batch import Column
from penstock.runtime.plugins import Plugins
from penstock.spark.loading import load
from penstock.spark.splits import PluginRef, TaskSpec
from penstock.transforms.sides import SidedTransform

FORMS: dict[type[Any], Sequence[str]] = {
    Transform: ("apply_batch",),
    Predicate: ("test_batch",),
    Converter: ("decode", "decode_parts", "encode"),
}


class Form(NamedTuple):
    """A form for columns of a shipped plugin."""

    plugin: type[Any]
    name: str

    def __str__(self) -> str:
        return f"{self.plugin.__name__}.{self.name}"


USED: set[Form] = set()
"""The forms that have taken records which are not all null."""


def shipped_forms(plugins: Plugins) -> list[Form]:
    """Every form for columns that a shipped plugin has, found by looking at the classes."""
    found = [entry.cls for entry in plugins.all() if entry.cls.__module__.startswith("penstock.")]
    return sorted({form for cls in found for form in _forms_of(cls)}, key=str)


def _forms_of(cls: type[Any]) -> list[Form]:
    names = [name for base, names in FORMS.items() if issubclass(cls, base) for name in names if _has(cls, base, name)]
    return [Form(cls, name) for name in names]


def _has(cls: type[Any], base: type[Any], name: str) -> bool:
    if issubclass(cls, SidedTransform) and cls.change_column is SidedTransform.change_column:
        return False
    return getattr(cls, name) is not getattr(base, name)


def observed(spec: TaskSpec) -> TaskSpec:
    """The same task with plugins that write down in ``USED`` what their forms for columns have done."""
    chain = [
        replace(link, transform=_ref(link.transform), predicate=link.predicate and _ref(link.predicate))
        for link in spec.transforms
    ]
    converters = {name: _ref(getattr(spec, name)) for name in ("key_converter", "value_converter")}
    return replace(spec, transforms=chain, **converters)


def _ref(ref: PluginRef) -> PluginRef:
    return replace(ref, target=_observing(ref.target))


@cache
def _observing(target: str) -> str:
    cls = load(target)
    name = f"Observing{cls.__name__}"
    members = {form.name: _telling(form) for form in _forms_of(cls)}
    globals()[name] = type(name, (cls,), {**members, "__module__": __name__, "__qualname__": name})
    return f"{__name__}:{name}"


def _telling(form: Form) -> Callable[..., Any]:
    plain = getattr(form.plugin, form.name)

    def tell(plugin: Any, *given: Any) -> Any:
        answer = plain(plugin, *given)
        if _took(plugin, given[-1], answer):
            USED.add(form)
        return answer

    return tell


def _took(plugin: Any, given: Any, answer: Any) -> bool:
    """Whether a form did its work for a record that has something in it."""
    if answer is None:
        return False
    if isinstance(given, Batch):
        whole = given.key if getattr(plugin, "is_key", False) else given.value
        return whole is not None and _has_values(whole.array)
    if isinstance(answer, list):
        return any(_has_values(part.column.array) for part in answer)
    return _has_values(given.array if isinstance(given, Column) else given)


def _has_values(array: pa.Array) -> bool:
    return bool(array.null_count < len(array))
