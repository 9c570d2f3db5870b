"""The common part of converters, transforms, predicates and config providers."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping
from typing import Any, ClassVar

from .config import ConfigDef


class Plugin(ABC):  # noqa: B024
    """Configured by its own keys, without prefix.

    ``java_class`` is the Kafka Connect class that this plugin stands for: configurations may name it, and
    listings, traces and dead letter headers show it. Empty for plugins of our own.
    """

    version: ClassVar[str] = "0.0.0"
    java_class: ClassVar[str] = ""
    config: ClassVar[ConfigDef] = ConfigDef()

    def configure(self, settings: Mapping[str, Any]) -> None:  # noqa: B027
        """Take its own keys (prefix removed, references resolved, not yet parsed).

        Called once on every copy, in the driver and on executors. An exception fails the task at its start.
        """
