"""Java's login configuration (``sasl.jaas.config``) and what librdkafka needs of it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from penstock.api.errors import ConfigError

_OPTION = re.compile(r"""([\w.]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s;]+))""")
_PASSWORD_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_OWN_KEYS = (
    "sasl.username",
    "sasl.password",
    "sasl.mechanisms",
    "sasl.oauthbearer.config",
    "sasl.oauthbearer.method",
    "sasl.kerberos.keytab",
    "sasl.kerberos.principal",
)
_TOKEN_ENDPOINT = "sasl.oauthbearer.token.endpoint.url"
_CLIENT = "sasl.oauthbearer.client.credentials.client"


def credentials(settings: Mapping[str, str]) -> dict[str, str]:
    """The ``sasl.*`` keys of librdkafka for those of a Java client. Raises ``ConfigError``."""
    own = {key: settings[key] for key in _OWN_KEYS if key in settings}
    mechanism = settings.get("sasl.mechanism", settings.get("sasl.mechanisms", "GSSAPI")).upper()
    jaas = settings.get("sasl.jaas.config", "")
    if not jaas and not (mechanism == "OAUTHBEARER" and settings.get(_TOKEN_ENDPOINT)):
        return own
    options = _options(jaas)
    if mechanism in _PASSWORD_MECHANISMS:
        missing = [name for name in ("username", "password") if name not in options]
        if missing:
            raise _wrong(f"{mechanism} needs {' and '.join(missing)} in it")
        return {**own, "sasl.username": options["username"], "sasl.password": options["password"]}
    if mechanism == "OAUTHBEARER":
        return {**own, **_oidc(settings, options)}
    if mechanism == "GSSAPI":
        return {**own, **_kerberos(options)}
    raise ConfigError.invalid(
        "sasl.mechanism", mechanism, f"Must be one of {', '.join(_PASSWORD_MECHANISMS)}, OAUTHBEARER, GSSAPI"
    )


def _options(jaas: str) -> dict[str, str]:
    """The options behind the login module's name and flag."""
    found = {}
    for name, double, single, plain in _OPTION.findall(jaas):
        quoted = double or single
        found[name] = re.sub(r"\\(.)", r"\1", quoted) if quoted else plain
    return found


def _oidc(settings: Mapping[str, str], options: Mapping[str, str]) -> dict[str, str]:
    """Client and secret have keys of their own since Kafka 4.1 (KIP-1139), and are options of the login before."""
    endpoint = settings.get(_TOKEN_ENDPOINT)
    client = settings.get(f"{_CLIENT}.id") or options.get("clientId")
    if not endpoint or not client:
        raise _wrong(
            f"OAUTHBEARER needs clientId and clientSecret in it (or {_CLIENT}.id and .secret) and the key "
            f"{_TOKEN_ENDPOINT}; other ways to get a token are not supported"
        )
    found = {
        "sasl.oauthbearer.method": "oidc",
        _TOKEN_ENDPOINT: endpoint,
        "sasl.oauthbearer.client.id": client,
        "sasl.oauthbearer.client.secret": settings.get(f"{_CLIENT}.secret") or options.get("clientSecret", ""),
    }
    scope = settings.get("sasl.oauthbearer.scope") or options.get("scope")
    return {**found, "sasl.oauthbearer.scope": scope} if scope else found


def _kerberos(options: Mapping[str, str]) -> dict[str, str]:
    names = {"keyTab": "sasl.kerberos.keytab", "principal": "sasl.kerberos.principal"}
    return {key: options[name] for name, key in names.items() if name in options}


def _wrong(detail: str) -> ConfigError:
    """The value stays out of the text: it is a secret."""
    return ConfigError.invalid("sasl.jaas.config", "[hidden]", detail)
