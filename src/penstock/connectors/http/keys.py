"""Configuration keys that source and sink share: requests, authentication, failures."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from penstock.api import ConfigDef, ConfigError, ConfigKey, Importance, Type, at_least, one_of

HEADERS = "http.headers."
PARAMS = "http.params."

REQUEST, AUTH, FAILURES = "Request", "Authentication", "Failures"
_HIGH, _MEDIUM, _LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW

_QUERY = re.compile(r"[?#].*", re.DOTALL)
_PASSWORD = re.compile(r"(//[^:/@]*):.*@", re.DOTALL)

_NEEDED_BY_AUTH = {
    "none": (),
    "basic": ("auth.user", "auth.password"),
    "bearer": ("auth.token",),
    "header": ("auth.header.name", "auth.header.value"),
}


def web_address(name: str, value: Any) -> None:
    """An absolute http or https address without a password in it; an empty one passes."""
    if not value:
        return
    try:
        parts = urlsplit(value)
        host, password = parts.hostname, parts.password
        parts.port  # noqa: B018
    except ValueError as error:
        reason = "" if "@" in value else f": {error}"
        raise ConfigError.invalid(name, _without_secrets(value), f"not a web address{reason}") from None
    if parts.scheme not in ("http", "https") or not host:
        raise ConfigError.invalid(
            name, _without_secrets(value), "must begin with http:// or https:// and name a host"
        )
    if password is not None:
        raise ConfigError.invalid(
            name, _without_secrets(value), "no password here; use auth.type=basic, auth.user and auth.password"
        )


def _without_secrets(value: str) -> str:
    """An address, or what was meant to be one, for messages: without a password, query and fragment."""
    return _PASSWORD.sub(r"\1:…@", _QUERY.sub("", value))


SHARED = ConfigDef(
    ConfigKey(
        "auth.type",
        Type.STRING,
        "none",
        _MEDIUM,
        "How requests identify us: none, basic (auth.user, auth.password), bearer (auth.token) or header"
        " (auth.header.name, auth.header.value).",
        one_of(*_NEEDED_BY_AUTH),
        AUTH,
    ),
    ConfigKey("auth.user", Type.STRING, "", _MEDIUM, "The user of basic authentication.", None, AUTH),
    ConfigKey("auth.password", Type.PASSWORD, "", _MEDIUM, "The password of basic authentication.", None, AUTH),
    ConfigKey("auth.token", Type.PASSWORD, "", _MEDIUM, "The token of bearer authentication.", None, AUTH),
    ConfigKey(
        "auth.header.name", Type.STRING, "", _LOW, "A header that holds a secret, such as X-Api-Key.", None, AUTH
    ),
    ConfigKey("auth.header.value", Type.PASSWORD, "", _LOW, "The secret in that header.", None, AUTH),
    ConfigKey(
        "tls.ca.file",
        Type.STRING,
        "",
        _LOW,
        "A PEM file with the authorities to trust, for services with certificates of their own. It must be there on"
        " every executor.",
        None,
        AUTH,
    ),
    ConfigKey(
        "http.connect.timeout.ms", Type.INT, 5_000, _LOW, "How long a connection may take.", at_least(1), REQUEST
    ),
    ConfigKey(
        "http.read.timeout.ms",
        Type.INT,
        30_000,
        _LOW,
        "How long the service may keep silent in the middle of an answer.",
        at_least(1),
        REQUEST,
    ),
    ConfigKey(
        "http.answer.max.bytes",
        Type.INT,
        64 << 20,
        _LOW,
        "A longer answer fails the task instead of filling the memory.",
        at_least(1),
        REQUEST,
    ),
    ConfigKey(
        "retry.max",
        Type.INT,
        3,
        _MEDIUM,
        "How often a request is tried again at once when there is no answer, or one of 408, 425, 429 and 5xx. After"
        " that the whole batch is repeated with growing pauses: the task waits for the service rather than failing.",
        at_least(0),
        FAILURES,
    ),
    ConfigKey(
        "retry.backoff.ms",
        Type.INT,
        300,
        _LOW,
        "The pause before the first of these tries; it doubles with each. Retry-After of the service goes first.",
        at_least(0),
        FAILURES,
    ),
    ConfigKey(
        "retry.backoff.max.ms",
        Type.INT,
        30_000,
        _LOW,
        "The longest pause, also where Retry-After asks for more.",
        at_least(0),
        FAILURES,
    ),
)


def prefixed(settings: Mapping[str, str], prefix: str) -> dict[str, str]:
    """The settings below a prefix: ``http.headers.Accept`` as ``Accept``."""
    return {key[len(prefix) :]: value for key, value in settings.items() if key.startswith(prefix) and key != prefix}


def check_shared(settings: Mapping[str, str], errors: dict[str, list[str]]) -> None:
    """Add what is wrong across the shared keys."""
    kind = settings.get("auth.type", "none")
    for key in _NEEDED_BY_AUTH.get(kind, ()):
        if not settings.get(key):
            add(errors, key, f"auth.type={kind} needs {key}")
    for name, value in prefixed(settings, HEADERS).items():
        if not name.isascii() or any(not (c.isalnum() or c in "!#$%&'*+-.^_`|~") for c in name):
            add(errors, HEADERS + name, f"'{name}' cannot be the name of a header")
        if any(ord(c) < 32 or ord(c) == 127 for c in value):
            add(errors, HEADERS + name, f"the value of the header '{name}' has control characters, such as line ends")


def add(errors: dict[str, list[str]], key: str, text: str) -> None:
    """Note one error of a key."""
    errors.setdefault(key, []).append(text)
