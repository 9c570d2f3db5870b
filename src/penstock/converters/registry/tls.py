"""TLS on the way to the registry, from PEM files under ``schema.registry.ssl.*``."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.api.config import ConfigKey, Importance, Password, Type, Validator, Width
from penstock.api.errors import ConfigError

_PREFIX = "schema.registry.ssl."


def _pem_only(name: str, value: Any) -> None:
    if value is not None and value.upper() != "PEM":
        detail = "Only PEM files can be read; convert a key store with keytool and openssl"
        raise ConfigError.invalid(name, value, detail)


def _key(name: str, default: Any, doc: str, type: Type = Type.STRING, validator: Validator | None = None) -> ConfigKey:
    return ConfigKey(
        _PREFIX + name, type, default, Importance.LOW, doc, validator, group="Schema registry", width=Width.MEDIUM
    )


TLS_KEYS = (
    _key("truststore.location", "", "A PEM file with the authorities to trust. Without it, those of the system."),
    _key("truststore.type", "PEM", "The kind of the trust store: PEM.", validator=_pem_only),
    _key("keystore.location", "", "A PEM file with our own key and certificates, where the registry asks for them."),
    _key("keystore.type", "PEM", "The kind of the key store: PEM.", validator=_pem_only),
    _key("key.password", "", "The password of the private key.", Type.PASSWORD),
    _key("endpoint.identification.algorithm", "https", "Empty: do not compare the host name with the certificate."),
)


@dataclass(frozen=True)
class TlsFiles:
    """Where the PEM files are, and whether the host name must match."""

    trust: str = ""
    key: str = ""
    password: str = field(default="", repr=False)
    check_host: bool = True

    @classmethod
    def from_parsed(cls, parsed: Mapping[str, Any]) -> TlsFiles:
        password = parsed[_PREFIX + "key.password"]
        return cls(
            trust=parsed[_PREFIX + "truststore.location"],
            key=parsed[_PREFIX + "keystore.location"],
            password=password.value if isinstance(password, Password) else "",
            check_host=bool(parsed[_PREFIX + "endpoint.identification.algorithm"]),
        )

    def context(self) -> ssl.SSLContext:
        """What the HTTP client needs. Raises :class:`ConfigError` for files that cannot be used."""
        try:
            context = ssl.create_default_context(cafile=self.trust or None)
        except (ssl.SSLError, OSError) as error:
            raise ConfigError.invalid(_PREFIX + "truststore.location", self.trust, str(error)) from None
        context.check_hostname = self.check_host
        if self.key:
            try:
                context.load_cert_chain(self.key, password=self.password or "")
            except (ssl.SSLError, OSError) as error:
                raise ConfigError.invalid(_PREFIX + "keystore.location", self.key, str(error)) from None
        return context
