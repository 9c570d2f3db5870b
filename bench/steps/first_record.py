"""A record through a system: the proof that everything is up."""

from __future__ import annotations

from ..api import file_sink, file_source
from ..system import System
from ..waiting import wait_for


def move_first_record(system: System) -> None:
    """Create a pipeline file → topic → file and wait for its line; then remove the pipeline."""
    lines, output = system.folder / "first.txt", system.folder / "first.out-lines"
    lines.write_text("the first line\n")
    topic = system.own("first")
    system.api.create(f"{topic}-in", file_source(lines, topic))
    system.api.create(f"{topic}-out", file_sink(output, topic))
    wait_for(lambda: output.exists() and output.stat().st_size, "the first record", 90.0, pause=0.01)


def remove_first_record(system: System) -> None:
    topic = system.own("first")
    system.api.delete(f"{topic}-in")
    system.api.delete(f"{topic}-out")
