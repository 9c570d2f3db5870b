"""The steps of a run. Each measures one system on a fresh folder and gives figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from ..common import Common
from ..figures import Figure
from ..scale import Scale
from ..system import System
from ..turns import Turns


@dataclass(frozen=True, slots=True)
class Run:
    """What a step gets: which system to start, how much to do, a folder, whom to tell, and what all systems share."""

    kind: type[System]
    scale: Scale
    folder: Path
    say: Callable[[str], None]
    common: Common

    @contextmanager
    def fresh(self, make: Callable[[Path], System] | None = None) -> Iterator[System]:
        """A system on an empty folder; to be launched by the caller."""
        with TemporaryDirectory(dir=self.folder, prefix="system-", ignore_cleanup_errors=True) as folder:
            system = (make or self.kind)(Path(folder))
            try:
                system.prepare()
                yield system
            except Exception as error:
                raise RuntimeError(f"{error}\n{system.tail()}\n{self.common.tail()}".rstrip()) from error
            finally:
                system.stop()

    @contextmanager
    def started(self, make: Callable[[Path], System] | None = None) -> Iterator[System]:
        """A system that answers."""
        with self.fresh(make) as system:
            self.say("starting")
            system.launch()
            system.wait_answer()
            yield system


Step = Callable[[Run], list[Figure] | Turns]


def all_steps() -> Mapping[str, Step]:
    """The steps by name, in the order in which they run."""
    from . import chains, cluster, connectors, control, kafka, latency, postgres, startup, status, throughput

    modules = (startup, throughput, chains, kafka, latency, status, control, connectors, cluster, postgres)
    return {module.__name__.rpartition(".")[2]: module.measure for module in modules}
