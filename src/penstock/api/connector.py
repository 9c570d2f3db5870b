"""What a connector owes the runtime and the systems it touches."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from .config import ConfigDef
from .task import SinkTask, SourceOffset, SourcePartition, SourceTask, Task

Config = Mapping[str, str]


class Connector(ABC):
    """A named configuration come alive. Lives in the driver; never pickled.

    Order of calls on one object: ``configure``, ``start``, ``task_configs`` as often as needed, ``stop``. Hooks and
    ``alter_offsets`` are called on an object of their own, after ``configure`` and never after ``start``. Every call
    runs on a thread of its own with a time limit, so a call that hangs fails this connector and nothing else.
    """

    version: ClassVar[str] = "0.0.0"
    java_class: ClassVar[str] = ""
    config: ClassVar[ConfigDef]
    task: ClassVar[type[Task]]

    def __init__(self) -> None:
        self.settings: Config = {}
        self.request_task_reconfiguration: Callable[[], None] = lambda: None

    def configure(self, settings: Config) -> None:
        """Take the connector configuration (references resolved, already validated)."""
        self.settings = settings

    def validate(self, settings: Config) -> Mapping[str, Sequence[str]]:
        """Checks across keys: configuration key → error messages. Called after each key was checked by itself.

        Called on a fresh object by the validate endpoint and before every create and update. An exception
        is reported to the caller as an error of the request.
        """
        return {}

    def start(self) -> None:  # noqa: B027
        """Begin. Called before ``task_configs``, and again after a pause or a stop.

        An exception makes the connector FAILED.
        """

    def stop(self) -> None:  # noqa: B027
        """End. Called on pause, stop, update, restart and deletion if the connector was started."""

    def task_configs(self, max_tasks: int) -> Sequence[Config]:
        """The configurations of the tasks, at most ``max_tasks``.

        Called after ``start`` and whenever ``request_task_reconfiguration`` was called. An exception makes the
        connector FAILED; running tasks go on.
        """
        return [dict(self.settings)]

    def on_created(self, config: Config) -> None:  # noqa: B027
        """The first start of this configuration: make what it needs outside. At least once, before ``start``.

        An exception makes the connector FAILED and the next start tries again.
        """

    def on_updated(self, old: Config, new: Config) -> None:  # noqa: B027
        """The first start after a change: ``old`` is the last active configuration. At least once, before ``start``."""

    def on_deleted(self, old: Config) -> None:  # noqa: B027
        """The connector is gone: remove what ``on_created`` made. ``old`` is the last active configuration.

        Called on a fresh object that was configured with ``old`` and never started. A failure never blocks the
        deletion; the call is repeated with back-off.
        """


class SourceConnector(Connector):
    """A connector whose tasks bring records in."""

    task: ClassVar[type[SourceTask]]

    def can_define_transaction_boundaries(self, settings: Config) -> bool:
        """Whether tasks with these settings end transactions themselves (``TransactionEnd``).

        Called on a fresh object when a configuration with ``transaction.boundary=connector`` is validated, which is
        refused unless the answer is ``True``.
        """
        return False

    def alter_offsets(self, config: Config, offsets: Sequence[tuple[SourcePartition, SourceOffset | None]]) -> bool:
        """Someone asks to change source offsets (``None`` resets a partition) of the stopped connector.

        Called on a fresh, configured, never started object, before anything is written. Return ``True`` when the
        offsets were checked (or changed outside), ``False`` when the connector does not look at them (the default).
        Raise to refuse: the text reaches the user; ``UnsupportedOperationError`` says that it can never be done.
        """
        return False


class SinkConnector(Connector):
    """A connector whose tasks carry records out."""

    task: ClassVar[type[SinkTask]]

    def alter_offsets(self, config: Config, offsets: Mapping[tuple[str, int], int | None]) -> bool:
        """Like :meth:`SourceConnector.alter_offsets`, for (topic, partition) → offset."""
        return False
