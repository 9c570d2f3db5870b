"""What of a connector runs in this process."""

from __future__ import annotations

from collections.abc import Collection

from penstock.storage.config_snapshot import ConfigSnapshot


class Ownership:
    """Everything, on a worker that is alone. Workers of a cluster share: see ``cluster_ownership``."""

    shared = False

    def has_part(self, connector: str) -> bool:
        """Whether anything of the connector belongs here."""
        return True

    def connector(self, connector: str) -> bool:
        """Whether the connector instance belongs here."""
        return True

    def tasks(self, connector: str, snapshot: ConfigSnapshot) -> Collection[int]:
        """The numbers of the tasks that may run here, out of the committed ones."""
        return range(len(snapshot.task_configs(connector)))
