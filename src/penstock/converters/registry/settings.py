"""The keys that say where the registry is, who we are to it, and how patient we are with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

from penstock.api.config import ConfigDef, ConfigKey, Importance, Password, Type, Width, at_least, one_of_ignoring_case
from penstock.api.errors import ConfigError
from penstock.api.oauth import ClientCredentials

from .tls import TLS_KEYS, TlsFiles

HEADER_PREFIX = "request.header."
_OAUTH = "OAUTHBEARER"
_SHORTEST_USE = 1.0
"""Seconds that a token is used whose endpoint tells no life."""


def _registry_urls(name: str, value: Any) -> None:
    """At least one http or https URL."""
    if value is None:
        return
    if not value:
        raise ConfigError.invalid(name, "", "At least one URL is needed, such as http://localhost:8081")
    for url in value:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            shown = url.replace(parts.netloc, parts.netloc.rpartition("@")[2]) if parts.netloc else url
            raise ConfigError.invalid(name, shown, "Not an http:// or https:// URL")


def _key(
    name: str, type: Type, default: Any, doc: str, importance: Importance = Importance.LOW, **more: Any
) -> ConfigKey:
    return ConfigKey(name, type, default, importance, doc, group="Schema registry", width=Width.MEDIUM, **more)


REGISTRY_KEYS = ConfigDef(
    ConfigKey(
        "schema.registry.url",
        Type.LIST,
        importance=Importance.HIGH,
        doc="URLs of the schema registry, separated by commas. When one does not answer, the next one is asked.",
        validator=_registry_urls,
        group="Schema registry",
        width=Width.LONG,
    ),
    _key(
        "basic.auth.credentials.source",
        Type.STRING,
        "URL",
        "Where user name and password come from: URL (http://user:password@host) or USER_INFO"
        " (the key basic.auth.user.info).",
        Importance.MEDIUM,
        validator=one_of_ignoring_case("URL", "USER_INFO"),
    ),
    _key("basic.auth.user.info", Type.PASSWORD, "", "user:password, for the source USER_INFO.", Importance.MEDIUM),
    _key("schema.registry.basic.auth.user.info", Type.PASSWORD, "", "An older name of basic.auth.user.info."),
    _key(
        "bearer.auth.credentials.source",
        Type.STRING,
        "STATIC_TOKEN",
        "Where a bearer token comes from: STATIC_TOKEN (the key bearer.auth.token) or OAUTHBEARER"
        " (client credentials at bearer.auth.issuer.endpoint.url).",
        Importance.MEDIUM,
        validator=one_of_ignoring_case("STATIC_TOKEN", _OAUTH),
    ),
    _key("bearer.auth.token", Type.PASSWORD, "", "The token, for the source STATIC_TOKEN.", Importance.MEDIUM),
    _key("bearer.auth.issuer.endpoint.url", Type.STRING, "", "The token endpoint, for the source OAUTHBEARER."),
    _key("bearer.auth.client.id", Type.STRING, "", "The client id for the token endpoint."),
    _key("bearer.auth.client.secret", Type.PASSWORD, "", "The client secret for the token endpoint."),
    _key("bearer.auth.scope", Type.STRING, "", "The scope to ask the token endpoint for."),
    _key("bearer.auth.logical.cluster", Type.STRING, "", "Sent as the header target-sr-cluster with OAUTHBEARER."),
    _key(
        "bearer.auth.identity.pool.id",
        Type.STRING,
        "",
        "Sent as the header Confluent-Identity-Pool-Id with OAUTHBEARER.",
    ),
    _key(
        "bearer.auth.cache.expiry.buffer.seconds",
        Type.SHORT,
        300,
        "How long before it expires a token is renewed.",
        validator=at_least(0),
    ),
    _key("http.connect.timeout.ms", Type.INT, 60_000, "How long to wait for a connection.", validator=at_least(1)),
    _key("http.read.timeout.ms", Type.INT, 60_000, "How long to wait for an answer.", validator=at_least(1)),
    _key(
        "max.retries",
        Type.INT,
        3,
        "How often a request is repeated when the registry says it is busy (408, 429, 502, 503, 504).",
        validator=at_least(0),
    ),
    _key("retries.wait.ms", Type.INT, 1000, "The longest pause before the first repetition.", validator=at_least(0)),
    _key("retries.max.wait.ms", Type.INT, 20_000, "The longest pause before any repetition.", validator=at_least(0)),
    _key("proxy.host", Type.STRING, "", "An HTTP proxy on the way to the registry."),
    _key("proxy.port", Type.INT, -1, "The port of the proxy."),
    _key(
        "max.schemas.per.subject",
        Type.INT,
        1000,
        "How many schemas a process remembers of a registry.",
        validator=at_least(1),
    ),
    *TLS_KEYS,
)


@dataclass(frozen=True)
class RegistrySettings:
    """What makes one client of a registry. Equal settings share a client; secrets stay out of ``repr``."""

    urls: tuple[str, ...]
    user_info: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    oauth: OauthSettings | None = None
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    connect_timeout: float = 60.0
    read_timeout: float = 60.0
    retries: int = 3
    first_wait: float = 1.0
    longest_wait: float = 20.0
    proxy: str | None = None
    cache_size: int = 1000
    tls: TlsFiles | None = None

    @classmethod
    def from_parsed(cls, parsed: Mapping[str, Any], raw: Mapping[str, Any]) -> RegistrySettings:
        """From the values of :data:`REGISTRY_KEYS` and the settings as they came, for ``request.header.`` keys."""
        urls, inline = _split_credentials(parsed["schema.registry.url"])
        prefix = len(HEADER_PREFIX)
        return cls(
            urls=urls,
            user_info=_user_info(parsed, inline),
            token=_static_token(parsed),
            oauth=_oauth(parsed),
            headers=tuple((k[prefix:], str(v)) for k, v in sorted(raw.items()) if k.startswith(HEADER_PREFIX)),
            connect_timeout=parsed["http.connect.timeout.ms"] / 1000,
            read_timeout=parsed["http.read.timeout.ms"] / 1000,
            retries=parsed["max.retries"],
            first_wait=parsed["retries.wait.ms"] / 1000,
            longest_wait=parsed["retries.max.wait.ms"] / 1000,
            proxy=_proxy(parsed),
            cache_size=parsed["max.schemas.per.subject"],
            tls=TlsFiles.from_parsed(parsed),
        )


@dataclass(frozen=True)
class OauthSettings:
    """A client credentials grant, and what Confluent's cloud wants to know beside the token."""

    credentials: ClientCredentials
    cluster: str = ""
    identity_pool: str = ""
    buffer_seconds: float = 300.0

    def seconds_of_use(self, life: float | None) -> float:
        """How long a token of this life is used. One that lives shorter than the buffer is used to its end."""
        life = life or 0.0
        early = self.buffer_seconds if self.buffer_seconds < life else 0.0
        return max(life - early, _SHORTEST_USE)


def _split_credentials(urls: list[str]) -> tuple[tuple[str, ...], str | None]:
    """The URLs without user names and passwords, and the first such pair."""
    clean, found = [], None
    for url in urls:
        parts = urlsplit(url)
        credentials, _, host = parts.netloc.rpartition("@")
        if credentials and found is None:
            found = unquote(credentials)
        clean.append(urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", "")))
    return tuple(clean), found


def _secret(parsed: Mapping[str, Any], name: str) -> str:
    value = parsed[name]
    return value.value if isinstance(value, Password) else ""


def _user_info(parsed: Mapping[str, Any], inline: str | None) -> str | None:
    if parsed["basic.auth.credentials.source"].upper() == "URL":
        return inline
    info = _secret(parsed, "basic.auth.user.info") or _secret(parsed, "schema.registry.basic.auth.user.info")
    if ":" not in info:
        raise ConfigError("basic.auth.credentials.source is USER_INFO: set basic.auth.user.info to user:password")
    return info


def _static_token(parsed: Mapping[str, Any]) -> str | None:
    if parsed["bearer.auth.credentials.source"].upper() == _OAUTH:
        return None
    return _secret(parsed, "bearer.auth.token") or None


def _oauth(parsed: Mapping[str, Any]) -> OauthSettings | None:
    if parsed["bearer.auth.credentials.source"].upper() != _OAUTH:
        return None
    for name in ("bearer.auth.issuer.endpoint.url", "bearer.auth.client.id", "bearer.auth.client.secret"):
        if not (_secret(parsed, name) or (parsed[name] if isinstance(parsed[name], str) else "")):
            raise ConfigError(f"bearer.auth.credentials.source is {_OAUTH}: {name} must be set")
    return OauthSettings(
        ClientCredentials(
            endpoint=parsed["bearer.auth.issuer.endpoint.url"],
            client_id=parsed["bearer.auth.client.id"],
            client_secret=_secret(parsed, "bearer.auth.client.secret"),
            scope=parsed["bearer.auth.scope"],
        ),
        cluster=parsed["bearer.auth.logical.cluster"],
        identity_pool=parsed["bearer.auth.identity.pool.id"],
        buffer_seconds=float(parsed["bearer.auth.cache.expiry.buffer.seconds"]),
    )


def _proxy(parsed: Mapping[str, Any]) -> str | None:
    host, port = parsed["proxy.host"], parsed["proxy.port"]
    return f"http://{host}:{port}" if host and port > 0 else None
