"""The sizing page: what some wishes need, computed from the figures that were published."""

from __future__ import annotations

from collections.abc import Collection
from math import ceil

from .published import Steps, together

BUSY = 0.7
"""How busy cores may be on average, so that bursts and fail-overs find room."""

IN, OUT = "throughput.in.string.{}.cpu", "throughput.out.string.{}.cpu"
CHAIN = "chains.out.transforms.cpu"
IDLE_NONE, IDLE_MANY, MOVING = "connectors.idle.0.{}", "connectors.idle.500.{}", "connectors.moving.cpu"
MANY = 500
KAFKA = {
    "kafka_in_100": "kafka.in.100.cpu",
    "kafka_in_1000": "kafka.in.1000.cpu",
    "kafka_once": "kafka.once.100.cpu",
    "kafka_out_100": "kafka.out.100.cpu",
    "kafka_out_1000": "kafka.out.1000.cpu",
}
"""CPU of the worker alone."""

PAGE = """\
# Sizing

How many cores and how much memory? This page computes it from the [benchmarks]({benchmarks}) of {dates} on {machines},
and is written with them (`python -m bench --publish`). Other processors, disks, networks and record shapes differ:
measure yours with the same command, and take this as the order of magnitude.

## Records
What a million records cost, in seconds of one core, with everything that runs for it:

| | 100 B | 1 KB |
|---|--:|--:|
| file → topic | {in_100:.2f} s | {in_1000:.2f} s |
| topic → file | {out_100:.2f} s | {out_1000:.2f} s |
| topic of JSON → three transforms → file | {chain:.2f} s | |
| file → Kafka, without the broker | {kafka_in_100:.2f} s | {kafka_in_1000:.2f} s |
| file → Kafka, exactly once, without the broker | {kafka_once:.2f} s | |
| Kafka → file, without the broker | {kafka_out_100:.2f} s | {kafka_out_1000:.2f} s |

So *r* million records a second need *r* times as many cores, and at most {percent} % of them should be busy on average.
**1 M records/s of 100 B** need

- {cores_in} into topics,
- {cores_both} into topics and out again,
- {cores_chain} out of JSON topics through three transforms,
- {cores_kafka} for the workers into Kafka and out again, and a Kafka cluster that takes as many.

## Connectors
An idle connector costs {idle_kb:.0f} KB of memory and {idle_cpu:.4f} % of a core, on top of {base_mb:.0f} MB for a
worker with Spark. One that moves a record a second costs {moving_cpu:.2f} % of a core, most of it for starting,
committing and looking for the next record: fewer, larger batches cost less.

**10,000 connectors** need

- {many_mb:,.0f} MB and {many_idle_cores:.1f} cores when they are idle,
- {many_cores} cores when each moves a record a second; with two cores a worker that is {many_workers} workers.
"""


def sizing_page(steps: Steps, benchmarks: str = "benchmarks.md") -> str | None:
    """The page in Markdown, or ``None`` as long as a step that it needs was not published."""
    names = [IN.format(100), IN.format(1000), OUT.format(100), OUT.format(1000), CHAIN, MOVING, *KAFKA.values()]
    names += [each.format(what) for each in (IDLE_NONE, IDLE_MANY) for what in ("pss", "cpu")]
    figures = {name: figure.value for name, figure in together(steps).figures.items()}
    if any(name not in figures for name in names):
        return None
    used = [steps[step] for step in sorted({name.partition(".")[0] for name in names})]
    in_100, in_1000, out_100, out_1000, chain, moving = (figures[name] for name in names[:6])
    pss_0, cpu_0, pss_many, cpu_many = (figures[name] for name in names[-4:])
    kafka = {what: figures[key] for what, key in KAFKA.items()}
    idle_mb, idle_percent = max(0.0, pss_many - pss_0) / MANY, max(0.0, cpu_many - cpu_0) / MANY
    moving_percent = moving / MANY
    many_cores = _cores(10_000 * moving_percent / 100)
    return PAGE.format(
        benchmarks=benchmarks,
        dates=_all({found.date[:10] for found in used}),
        machines=_all({found.machine for found in used}),
        percent=round(100 * BUSY),
        in_100=in_100,
        in_1000=in_1000,
        out_100=out_100,
        out_1000=out_1000,
        chain=chain,
        cores_in=_counted(_cores(in_100)),
        cores_both=_counted(_cores(in_100 + out_100)),
        cores_chain=_counted(_cores(chain)),
        cores_kafka=_counted(_cores(kafka["kafka_in_100"] + kafka["kafka_out_100"])),
        **kafka,
        idle_kb=1000 * idle_mb,
        idle_cpu=idle_percent,
        base_mb=pss_0,
        moving_cpu=moving_percent,
        many_mb=pss_0 + 10_000 * idle_mb,
        many_idle_cores=10_000 * idle_percent / 100,
        many_cores=many_cores,
        many_workers=ceil(many_cores / 2),
    )


def _all(texts: Collection[str]) -> str:
    return " and ".join(sorted(texts))


def _cores(busy: float) -> int:
    return max(1, ceil(busy / BUSY))


def _counted(cores: int) -> str:
    return "1 core" if cores == 1 else f"{cores} cores"
