"""TLS of HTTPS listeners, from Kafka's ``ssl.*`` keys with PEM material."""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from penstock.api.errors import ConfigError

_CLIENT_AUTH = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}
_VERSIONS = {"TLSV1.2": ssl.TLSVersion.TLSv1_2, "TLSV1.3": ssl.TLSVersion.TLSv1_3}


@dataclass(frozen=True)
class TlsSettings:
    """``chain`` and ``trust`` are PEM text; secrets stay out of ``repr``.

    ``check_names``: whether the certificate of another worker must be of the host that is asked.
    """

    chain: str = field(repr=False)
    password: str | None = field(default=None, repr=False)
    trust: str | None = None
    client_auth: str = "none"
    protocols: tuple[str, ...] = ("TLSv1.2", "TLSv1.3")
    check_names: bool = True

    def context(self) -> ssl.SSLContext:
        """That of the listener. Raises ``ConfigError``."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        versions = sorted(_VERSIONS[name.upper()] for name in self.protocols)
        context.minimum_version, context.maximum_version = versions[0], versions[-1]
        self.load_chain(context)
        context.verify_mode = _CLIENT_AUTH[self.client_auth]
        if self.trust is not None:
            try:
                context.load_verify_locations(cadata=self.trust)
            except ssl.SSLError as error:
                raise ConfigError(f"The certificates of ssl.truststore.* cannot be used: {error}") from None
        return context

    def load_chain(self, context: ssl.SSLContext) -> None:
        """Let a context show the key and certificate. Raises ``ConfigError``."""
        with _private_file(self.chain) as path:
            try:
                context.load_cert_chain(path, password=self.password or "")
            except (ssl.SSLError, OSError) as error:
                raise ConfigError(
                    f"The key and certificate of ssl.keystore.* cannot be used: {error}. They must be PEM, the "
                    "private key first or last, ssl.key.password its password."
                ) from None


class _private_file:  # noqa: N801
    """A file only we can read, for as long as OpenSSL needs one."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __enter__(self) -> str:
        handle, self._path = tempfile.mkstemp(prefix="penstock-tls-")
        with os.fdopen(handle, "w") as file:
            file.write(self._text)
        return self._path

    def __exit__(self, *error: object) -> None:
        os.unlink(self._path)


def tls_settings(properties: Mapping[str, str], prefix: str) -> TlsSettings:
    """Keys under ``prefix`` (``listeners.https.``) if there are any, else the plain ``ssl.*`` ones.

    Raises ``ConfigError`` also for keys and certificates that cannot be used.
    """
    if any(key.startswith(prefix) for key in properties):
        properties = {k[len(prefix) :]: v for k, v in properties.items() if k.startswith(prefix)}
    else:
        prefix = ""
    auth = properties.get("ssl.client.auth", "none").lower()
    if auth not in _CLIENT_AUTH:
        raise ConfigError.invalid(f"{prefix}ssl.client.auth", auth, "String must be one of: none, requested, required")
    trust = _trust(properties, prefix)
    if auth != "none" and trust is None:
        raise ConfigError(f"{prefix}ssl.client.auth={auth} needs {prefix}ssl.truststore.location (PEM certificates)")
    found = TlsSettings(
        chain=_chain(properties, prefix),
        password=properties.get("ssl.key.password") or properties.get("ssl.keystore.password"),
        trust=trust,
        client_auth=auth,
        protocols=_protocols(properties, prefix),
        check_names=_check_names(properties, prefix),
    )
    found.context()
    return found


def _chain(properties: Mapping[str, str], prefix: str) -> str:
    key, chain = properties.get("ssl.keystore.key"), properties.get("ssl.keystore.certificate.chain")
    if key and chain:
        return f"{key.strip()}\n{chain.strip()}\n"
    location = properties.get("ssl.keystore.location")
    if not location:
        raise ConfigError(f"An https listener needs {prefix}ssl.keystore.location, a PEM file of key and certificates")
    return _pem(f"{prefix}ssl.keystore.location", location, properties.get("ssl.keystore.type"))


def _trust(properties: Mapping[str, str], prefix: str) -> str | None:
    inline, location = properties.get("ssl.truststore.certificates"), properties.get("ssl.truststore.location")
    if inline or not location:
        return inline or None
    return _pem(f"{prefix}ssl.truststore.location", location, properties.get("ssl.truststore.type"))


def _pem(key: str, location: str, kind: str | None) -> str:
    try:
        content = Path(location).read_bytes()
    except OSError as error:
        raise ConfigError.invalid(key, location, f"the file cannot be read: {error.strerror}") from None
    if b"-----BEGIN" not in content:
        shown = kind or "unknown type"
        raise ConfigError.invalid(
            key,
            location,
            f"only PEM stores are read, this one is of {shown}. Convert it with keytool -importkeystore -srckeystore "
            f"{location} -destkeystore s.p12 -deststoretype PKCS12, then openssl pkcs12 -in s.p12 -out s.pem",
        )
    return content.decode("ascii", "replace")


def _protocols(properties: Mapping[str, str], prefix: str) -> tuple[str, ...]:
    text = properties.get("ssl.enabled.protocols", "TLSv1.2,TLSv1.3")
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names or any(name.upper() not in _VERSIONS for name in names):
        raise ConfigError.invalid(f"{prefix}ssl.enabled.protocols", text, "a list of TLSv1.2 and TLSv1.3")
    return names


def _check_names(properties: Mapping[str, str], prefix: str) -> bool:
    text = properties.get("ssl.endpoint.identification.algorithm", "https").strip()
    if text.lower() not in ("https", ""):
        key = f"{prefix}ssl.endpoint.identification.algorithm"
        raise ConfigError.invalid(key, text, "https, or nothing: then any name in a trusted certificate will do")
    return bool(text)
