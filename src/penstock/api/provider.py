"""Config providers: where ``${provider:path:key}`` references in configurations lead."""

from __future__ import annotations

from abc import abstractmethod

from .plugin import Plugin


class ConfigProvider(Plugin):
    """Looks up secrets and settings. Lives in the driver; called when a connector or task is validated or started."""

    @abstractmethod
    def get(self, path: str, key: str) -> str:
        """The value of ``${name:path:key}`` (``path`` is empty for ``${name:key}``).

        ``KeyError`` when there is none; any exception makes the connector or task FAILED, or the request a 400.
        """
