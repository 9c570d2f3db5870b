"""Data that flows at full speed while something else is measured."""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Iterator
from pathlib import Path

from .api import Api, file_sink, file_source
from .system import System
from .waiting import wait_for


@contextlib.contextmanager
def full_speed(system: System, lines: Path) -> Iterator[None]:
    """Move ``lines`` file → topic → file, again and again, while the block runs."""
    done = threading.Event()
    failure: list[BaseException] = []

    def repeat() -> None:
        api = Api(system.api.url)
        try:
            for round_number in itertools.count():
                if done.is_set():
                    return
                _move_once(api, system.folder, lines, round_number, done)
        except Exception as error:
            failure.append(error)
        finally:
            api.close()

    mover = threading.Thread(target=repeat, daemon=True)
    mover.start()
    try:
        wait_for(lambda: failure or _some_output(system.folder), "data flows", 60.0, pause=0.05)
        yield
    finally:
        done.set()
        mover.join()
    if failure:
        raise RuntimeError(f"The data stopped flowing: {failure[0]}") from failure[0]


def _move_once(api: Api, folder: Path, lines: Path, number: int, done: threading.Event) -> None:
    source, sink, output = f"flow-in-{number}", f"flow-out-{number}", folder / f"flow-{number}.out-lines"
    api.create(source, file_source(lines, f"flow-{number}"))
    api.create(sink, file_sink(output, f"flow-{number}"))
    size = lines.stat().st_size
    wait_for(lambda: done.is_set() or _size(output) >= size, "the flowing file is through", 300.0, pause=0.05)
    api.delete(source)
    api.delete(sink)
    output.unlink(missing_ok=True)


def _some_output(folder: Path) -> bool:
    return any(_size(path) for path in folder.glob("flow-*.out-lines"))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
