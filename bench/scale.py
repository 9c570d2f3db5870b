"""How much work a run does."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scale:
    """Bytes, rounds and seconds of the steps. ``file_bytes`` is what a fast system moves in a few seconds."""

    file_bytes: int = 400_000_000
    slow_file_bytes: int = 200_000_000
    throughput_rounds: int = 3
    kafka_rounds: int = 5
    warm_up_seconds: float = 20.0
    latency_seconds: float = 15.0
    starts: int = 3
    control_rounds: int = 15
    status_seconds: float = 5.0
    settle_seconds: float = 5.0
    many: int = 500
    many_seconds: float = 15.0


FULL = Scale()
QUICK = Scale(
    file_bytes=100_000_000,
    slow_file_bytes=50_000_000,
    throughput_rounds=1,
    kafka_rounds=1,
    warm_up_seconds=5.0,
    latency_seconds=4.0,
    starts=1,
    control_rounds=3,
    status_seconds=2.0,
    settle_seconds=2.0,
    many=100,
    many_seconds=5.0,
)
