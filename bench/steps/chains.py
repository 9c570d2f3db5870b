"""JSON through transforms: topic → file as it is, with three transforms, and with bad records on top; file → topic."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from ..api import file_sink, file_source
from ..figures import Figure, median
from ..orders import TRANSFORMS, Orders, check_lines, write_orders
from ..system import System
from ..usage import usage
from ..waiting import wait_for
from ..worker import Penstock
from . import Run
from .first_record import move_first_record

LONGEST_SECONDS = 180.0
DEAD_LETTERS = {
    "errors.tolerance": "all",
    "errors.deadletterqueue.topic.name": "dead-letters",
    "errors.deadletterqueue.topic.replication.factor": "1",
    "errors.deadletterqueue.context.headers.enable": "true",
}
LINES = {
    "transforms": "hoist,insert,replace",
    "transforms.hoist.type": "org.apache.kafka.connect.transforms.HoistField$Value",
    "transforms.hoist.field": "line",
    "transforms.insert.type": "org.apache.kafka.connect.transforms.InsertField$Value",
    "transforms.insert.static.field": "source",
    "transforms.insert.static.value": "bench",
    "transforms.replace.type": "org.apache.kafka.connect.transforms.ReplaceField$Value",
    "transforms.replace.renames": "line:text",
}
OUT = {
    "plain": ("topic → file, JSON", {}),
    "transforms": ("topic → file, JSON, 3 transforms", TRANSFORMS),
    "bad": ("topic → file, JSON, 3 transforms, 1 % bad records to a dead letter queue", {**TRANSFORMS, **DEAD_LETTERS}),
}
TARGETS = {"plain": (374_000.0, 3.2), "transforms": (265_000.0, 4.2), "bad": (211_000.0, 6.7)}
"""What Kafka Connect once reached on a machine of two cores: records a second, CPU of its worker."""


def measure(run: Run) -> list[Figure]:
    size = run.scale.file_bytes if run.kind is Penstock else run.scale.slow_file_bytes
    figures: list[Figure] = []
    with run.started() as system:
        move_first_record(system)
        run.say("writing orders")
        good = write_orders(system.folder / "orders.txt", size, with_bad=False)
        bad = write_orders(system.folder / "bad-orders.txt", size, with_bad=True)
        _fill(system, good, "orders")
        _fill(system, bad, "bad-orders")
        _warm_up(run, system, good)
        for case in OUT:
            figures += _measure_out(run, system, case, bad if case == "bad" else good)
        figures += _measure_in(run, system, good)
    return figures


def _fill(system: System, orders: Orders, topic: str) -> None:
    """The lines of a file as they are into a topic."""
    system.api.create(f"fill-{topic}", file_source(orders.path, topic))
    wait_for(lambda: system.has_read(f"fill-{topic}", topic, orders.count, orders.bytes), topic, LONGEST_SECONDS, 0.05)
    system.api.delete(f"fill-{topic}")


def _warm_up(run: Run, system: System, orders: Orders) -> None:
    began = time.monotonic()
    number = 0
    while time.monotonic() < began + run.scale.warm_up_seconds:
        run.say(f"warm-up {number + 1}")
        _out(system, f"warm-{number}", "transforms", orders)
        number += 1


def _measure_out(run: Run, system: System, case: str, orders: Orders) -> list[Figure]:
    passes = []
    for number in range(run.scale.throughput_rounds):
        run.say(f"{OUT[case][0]}, round {number + 1}")
        passes.append(_out(system, f"{case}-{number}", case, orders))
    return _figures(f"chains.out.{case}", OUT[case][0], orders.count, passes, TARGETS[case])


def _measure_in(run: Run, system: System, orders: Orders) -> list[Figure]:
    passes = []
    for number in range(run.scale.throughput_rounds):
        run.say(f"file → topic, 3 transforms, JSON, round {number + 1}")
        passes.append(_in(system, f"lines-{number}", orders))
    return _figures("chains.in", "file → topic, 3 transforms, JSON", orders.count, passes, None)


def _figures(
    key: str, title: str, count: int, passes: list[tuple[float, float]], target: tuple[float, float] | None
) -> list[Figure]:
    speed, cost = target or (None, None)
    seconds, cpu = (median([each[at] for each in passes]) for at in (0, 1))
    return [
        Figure(key, title, "records/s", count / seconds, "more", speed),
        Figure(f"{key}.cpu", f"{title}: CPU of the worker", "s per million", cpu / count * 1e6, target=cost),
    ]


def _out(system: System, name: str, case: str, orders: Orders) -> tuple[float, float]:
    output = system.folder / f"{name}.out"
    topic = "bad-orders" if orders.bad else "orders"
    changed = case != "plain"
    size = orders.changed if changed else orders.as_they_are
    config = {**file_sink(output, topic, "JSON"), **OUT[case][1]}
    passed = _timed(system, name, config, lambda: output.exists() and output.stat().st_size >= size)
    check_lines(output, orders, changed)
    output.unlink()
    return passed


def _in(system: System, topic: str, orders: Orders) -> tuple[float, float]:
    config = {**file_source(orders.path, topic, "JSON"), **LINES}
    return _timed(system, topic, config, lambda: system.has_read(topic, topic, orders.count, orders.bytes))


def _timed(system: System, name: str, config: Mapping[str, str], done: Callable[[], bool]) -> tuple[float, float]:
    """Seconds from the POST until it is done, and what the worker's processes used of the cores."""
    worker = system.pids[-1:]
    before, began = usage(worker), time.perf_counter()
    system.api.create(name, config)
    wait_for(done, name, LONGEST_SECONDS, 0.01)
    passed = time.perf_counter() - began, usage(worker).cpu_seconds - before.cpu_seconds
    system.api.delete(name)
    return passed
