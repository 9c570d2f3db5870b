"""What can go wrong with a registry, in the words that Kafka Connect's users know."""

from __future__ import annotations

from penstock.api.errors import DataError, PluginError, RetriableError

BUSY = frozenset({408, 429, 502, 503, 504})
"""Answers after which the same request may succeed at once or elsewhere."""

_RETRIABLE = BUSY | {500}
_EXCEPTIONS = {
    401: "org.apache.kafka.common.errors.AuthenticationException",
    403: "org.apache.kafka.common.errors.AuthorizationException",
}
NOT_FOUND_CODES = frozenset({404, 40401, 40402, 40403})


class RegistryRefusal(PluginError):
    """The registry answered with an error: its status, its own code and its text."""

    def __init__(self, status: int, code: int, text: str) -> None:
        super().__init__(f"{text}; error code: {code}")
        self.status = status
        self.code = code

    @property
    def not_found(self) -> bool:
        """Whether the subject, version or schema does not exist."""
        return self.code in NOT_FOUND_CODES


def record_error(context: str, refusal: RegistryRefusal) -> PluginError:
    """The error of a record that failed because of a refusal: one to try again, or a bad record."""
    message = f"{context} {refusal}"
    if refusal.status in _RETRIABLE:
        return RetriableError(message)
    return DataError(message, _EXCEPTIONS.get(refusal.status))
