"""Errors that plugins raise and the runtime understands."""

from __future__ import annotations


class PluginError(Exception):
    """Something a plugin could not do. Unless a subclass says otherwise, the task or connector becomes FAILED."""


class RetriableError(PluginError):
    """The same call may succeed later. The runtime repeats it with back-off instead of failing the task."""


class DataError(PluginError):
    """One record is bad. ``errors.tolerance`` and the dead letter queue decide what happens to it.

    ``exception`` is the Java exception class that Kafka Connect reports for the same failure; it is
    what dead letter headers and traces name.
    """

    exception = "org.apache.kafka.connect.errors.DataException"

    def __init__(self, message: str | None, exception: str | None = None) -> None:
        super().__init__(message)
        if exception is not None:
            self.exception = exception


class ConfigError(PluginError):
    """A configuration value is wrong. ``str()`` is the text a user sees."""

    exception = "org.apache.kafka.common.config.ConfigException"

    def __init__(self, message: str) -> None:
        super().__init__(message)

    @classmethod
    def invalid(cls, key: str, value: object, detail: str) -> ConfigError:
        """The usual text: ``Invalid value <value> for configuration <key>: <detail>``."""
        shown = "null" if value is None else value
        return cls(f"Invalid value {shown} for configuration {key}: {detail}")


class UnsupportedOperationError(PluginError):
    """Raised by ``alter_offsets`` of a connector whose offsets must not be changed from outside."""
