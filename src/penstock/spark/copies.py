"""The executor's own copies of tasks and of the plugins their records pass, built once and kept."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from penstock.api.converter import Converter, HeaderConverter
from penstock.api.errors import PluginError
from penstock.api.task import Task

from .chain import Chain, Link
from .errors import headline
from .loading import load
from .splits import PluginRef, TaskSpec, TransformRef

MAX_KEPT = 2048
"""Copies of tasks that wait for their next split; a copy built anew costs as much as a small split."""


@dataclass(slots=True)
class Copy:
    """All that a split of one task needs, configured."""

    task: Any
    key_converter: Converter
    value_converter: Converter
    header_converter: HeaderConverter
    chain: Chain


class TransformRefused(PluginError):
    """A transform or predicate could not be made from its settings; reads as Kafka Connect's error for it."""

    exception = "org.apache.kafka.connect.errors.ConnectException"

    def __init__(self, cause: Exception) -> None:
        super().__init__(headline(cause))


_idle: OrderedDict[str, Copy] = OrderedDict()
_lock = threading.Lock()


@contextmanager
def copy_of(spec: TaskSpec) -> Iterator[Copy]:
    """The copy for a spec, for the time of one split. A copy whose split raised is not used again."""
    with _lock:
        copy = _idle.pop(spec.key, None)
    if copy is None:
        copy = build(spec)
    yield copy
    with _lock:
        _idle[spec.key] = copy
        _idle.move_to_end(spec.key)
        while len(_idle) > MAX_KEPT:
            _idle.popitem(last=False)


def build(spec: TaskSpec) -> Copy:
    """A new copy. Any exception of a plugin's constructor or ``configure`` comes through.

    What plugins log on an executor goes to its standard error, unless somebody configured logging there.
    """
    logging.basicConfig(level=logging.INFO, format="[%(asctime)s] %(levelname)s %(message)s (%(name)s)")
    task: Task = _create(spec.task_target, spec)
    task.configure(spec.task_target.settings)
    return _build_for(task, spec)


def check(spec: TaskSpec) -> Chain:
    """Make the converters and transforms once in the driver, so that wrong settings show before the first record."""
    return _build_for(None, spec).chain


def build_converters(spec: TaskSpec) -> tuple[Converter, Converter, HeaderConverter]:
    """New converters for keys, values and headers."""
    key_converter = _converter(spec.key_converter, spec, is_key=True)
    value_converter = _converter(spec.value_converter, spec, is_key=False)
    header_converter: HeaderConverter = _create(spec.header_converter, spec)
    header_converter.configure(spec.header_converter.settings)
    return key_converter, value_converter, header_converter


def _build_for(task: Task | None, spec: TaskSpec) -> Copy:
    converters = build_converters(spec)
    return Copy(task, *converters, Chain([_link(ref, spec) for ref in spec.transforms]))


def _create(ref: PluginRef, spec: TaskSpec) -> Any:
    return load(ref.target, spec.plugin_path)()


def _converter(ref: PluginRef, spec: TaskSpec, is_key: bool) -> Converter:
    converter: Converter = _create(ref, spec)
    converter.configure_for(dict(ref.settings), is_key)
    return converter


def _link(ref: TransformRef, spec: TaskSpec) -> Link:
    try:
        predicate = None if ref.predicate is None else _configured(ref.predicate, spec)
        return Link(_configured(ref.transform, spec), predicate, ref.negate)
    except Exception as error:
        raise TransformRefused(error) from error


def _configured(ref: PluginRef, spec: TaskSpec) -> Any:
    plugin = _create(ref, spec)
    plugin.configure(ref.settings)
    return plugin
