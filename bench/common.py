"""What the systems of a step share."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType

from .peer.broker import Broker
from .processes import Processes


class Common:
    """Started when the first system wants it, stopped with the step."""

    def __init__(self, folder: Path) -> None:
        self._folder = TemporaryDirectory(dir=folder, prefix="common-", ignore_cleanup_errors=True)
        self._processes = Processes(Path(self._folder.name))
        self._broker: Broker | None = None

    def broker(self) -> Broker:
        """The one broker of all."""
        if self._broker is None:
            broker = Broker(self._processes.folder)
            broker.start(self._processes)
            self._broker = broker
        return self._broker

    def tail(self) -> str:
        """The end of what its processes printed."""
        return self._processes.tail()

    def __enter__(self) -> Common:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._processes.stop()
        self._folder.cleanup()
