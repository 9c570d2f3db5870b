"""Both with their topics on one broker: speed, exactly-once sources, a kill."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from ..api import file_source
from ..figures import Figure
from ..lines import write_numbered
from ..on_kafka import OnKafka
from ..peer.connect import ExactlyOnceConnect, KafkaConnect
from ..turns import Turns
from ..waiting import wait_for
from ..worker import ExactlyOncePenstock, Penstock, PenstockOnKafka
from . import Run
from .first_record import move_first_record
from .passes import LONGEST_SECONDS, Goal, figures_of, move_in, move_out

LINE_BYTES = (100, 1000)
INTO, OUT_OF = Goal(times_faster=2.0, times_cheaper=2.0), Goal(times_faster=1.5, times_cheaper=2.0)

MARKERS = 10
"""Offsets that the end of old transactions may take; more than these are records."""

LOOKS_AT_REST = 10

RECOVERY_TARGET_SECONDS = 10.0


def measure(run: Run) -> Turns:
    ours = run.kind is Penstock
    plain: type[OnKafka] = PenstockOnKafka if ours else KafkaConnect
    exactly_once: type[OnKafka] = ExactlyOncePenstock if ours else ExactlyOnceConnect
    figures: list[Figure] = []
    group = "penstock" if ours else "connect"
    with _started(run, plain, group) as system:
        for line_bytes in LINE_BYTES:
            figures += yield from _throughput(run, system, line_bytes)
    with _started(run, exactly_once, f"{group}-once") as system:
        figures += yield from _exactly_once(run, system)
        figures.append(_recovery(run, system))
    return figures


@contextmanager
def _started(run: Run, kind: type[OnKafka], group: str) -> Iterator[OnKafka]:
    with run.started(partial(kind, broker=run.common.broker(), group=group)) as system:
        assert isinstance(system, OnKafka)
        move_first_record(system)
        yield system


def _throughput(run: Run, system: OnKafka, line_bytes: int) -> Turns:
    lines = system.folder / f"{line_bytes}.txt"
    count = write_numbered(lines, line_bytes, run.scale.slow_file_bytes)
    ins, outs = [], []
    for number in range(1 + run.scale.kafka_rounds):
        run.say(f"file → Kafka → file, {line_bytes} B, {f'round {number}' if number else 'warm-up'}")
        topic = system.own(f"lines-{line_bytes}-{number}")
        ins.append(move_in(system, system.worker_pids, lines, count, topic))
        outs.append(move_out(system, system.worker_pids, lines, topic))
        yield
    del ins[0], outs[0]
    lines.unlink()
    titles = {"in": "file → Kafka", "out": "Kafka → file"}
    figures: list[Figure] = []
    for way, passes, goal in (("in", ins, INTO), ("out", outs, OUT_OF)):
        key, title = f"kafka.{way}.{line_bytes}", f"{titles[way]}, {line_bytes} B"
        figures += figures_of(key, title, count, passes, "the worker", goal)
    return figures


def _exactly_once(run: Run, system: OnKafka) -> Turns:
    lines = system.folder / "exactly-once.txt"
    count = write_numbered(lines, 100, run.scale.slow_file_bytes)
    passes = []
    for number in range(1 + run.scale.kafka_rounds):
        run.say(f"file → Kafka, 100 B, exactly once, {f'round {number}' if number else 'warm-up'}")
        passes.append(move_in(system, system.worker_pids, lines, count, system.own(f"lines-{number}")))
        yield
    lines.unlink()
    title = "file → Kafka, 100 B, exactly once"
    return figures_of("kafka.once.100", title, count, passes[1:], "the worker", INTO)


def _recovery(run: Run, system: OnKafka) -> Figure:
    """``kill -9`` of the worker amid a file; from its new start until the topic grows again."""
    run.say("kill -9 and start again")
    lines, topic = system.folder / "killed.txt", system.own("killed")
    count = write_numbered(lines, 100, 4 * run.scale.slow_file_bytes)
    system.api.create(f"in-{topic}", file_source(lines, topic))
    wait_for(lambda: system.broker.end_offset(topic) > count // 10, "lines arrive", LONGEST_SECONDS, 0.01)
    system.kill_worker()
    reached = _end_at_rest(system, topic)
    began = time.perf_counter()
    system.launch()
    wait_for(lambda: system.broker.end_offset(topic) > reached + MARKERS, "lines arrive again", LONGEST_SECONDS, 0.01)
    seconds = time.perf_counter() - began
    lines.unlink()
    title = "kill -9 of the worker, exactly-once source: start → records again"
    return Figure("kafka.recovery", title, "s", seconds, target=RECOVERY_TARGET_SECONDS)


def _end_at_rest(system: OnKafka, topic: str) -> int:
    """The end of a topic when the broker has written all that it had received."""
    ends = [system.broker.end_offset(topic)]

    def rests() -> bool:
        ends.append(system.broker.end_offset(topic))
        return len(set(ends[-LOOKS_AT_REST:])) == 1 and len(ends) > LOOKS_AT_REST

    wait_for(rests, f"{topic} is at rest", LONGEST_SECONDS, pause=0.1)
    return ends[-1]
