"""Keys of Spark that work against works: they are accepted, and the user is told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .lane_tls import is_true

SPECULATION = "spark.speculation"


def risky_settings(settings: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """What each such key brings about, and how it is set right."""
    if is_true(settings.get(SPECULATION)):
        yield (
            f"{SPECULATION}=true: on a cluster Spark starts a second copy of a task that takes longer than others, or "
            f"than {SPECULATION}.task.duration.threshold, and ends the slower of the two. Works reach other systems: "
            "the one that a lane is in the middle of then runs again, and two copies of a DataFrame's task may "
            "write the same records twice",
            f"Set {SPECULATION}=false, or take the key out (also of spark-defaults.conf).",
        )
