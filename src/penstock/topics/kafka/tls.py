"""The ``ssl.*`` keys of Java clients in librdkafka's words. PKCS12 stores become PEM, Java's own format is refused."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from penstock.api.errors import ConfigError

from .stores import key_and_certificates, trusted_certificates

_OWN_KEYS_NAMES = """
    ssl.ca.location ssl.ca.pem ssl.certificate.location ssl.certificate.pem ssl.key.location ssl.key.pem
    ssl.ca.certificate.stores ssl.crl.location ssl.curves.list ssl.sigalgs.list
    enable.ssl.certificate.verification
"""
_OWN_KEYS = frozenset(_OWN_KEYS_NAMES.split())
_JAVA_STORE = b"\xfe\xed\xfe\xed"


def tls_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """Raises ``ConfigError`` for a store that cannot be read."""
    found = {key: value for key, value in settings.items() if key in _OWN_KEYS}
    for key, name in (
        ("ssl.truststore.certificates", "ssl.ca.pem"),
        ("ssl.keystore.certificate.chain", "ssl.certificate.pem"),
        ("ssl.keystore.key", "ssl.key.pem"),
        ("ssl.key.password", "ssl.key.password"),
        ("ssl.cipher.suites", "ssl.cipher.suites"),
    ):
        if settings.get(key):
            found[name] = settings[key]
    if "ssl.endpoint.identification.algorithm" in settings:
        found["ssl.endpoint.identification.algorithm"] = settings["ssl.endpoint.identification.algorithm"] or "none"
    if settings.get("ssl.truststore.location"):
        found.update(_truststore(settings))
    if settings.get("ssl.keystore.location"):
        found.update(_keystore(settings))
    return found


def _truststore(settings: Mapping[str, str]) -> dict[str, str]:
    path = settings["ssl.truststore.location"]
    kind = _kind(settings, "ssl.truststore")
    if kind == "PEM":
        return {"ssl.ca.location": path}
    if kind == "PKCS12":
        password = settings.get("ssl.truststore.password", "")
        return {"ssl.ca.pem": trusted_certificates("ssl.truststore.location", path, password)}
    raise ConfigError.invalid(
        "ssl.truststore.location",
        path,
        "Java's own JKS format cannot be read. Export the certificates with "
        f"'keytool -list -rfc -keystore {path} > ca.pem', name that file here and set ssl.truststore.type=PEM",
    )


def _keystore(settings: Mapping[str, str]) -> dict[str, str]:
    path = settings["ssl.keystore.location"]
    kind = _kind(settings, "ssl.keystore")
    if kind == "PEM":
        return {"ssl.certificate.location": path, "ssl.key.location": path}
    if kind == "PKCS12":
        password = settings.get("ssl.keystore.password", "")
        key, chain = key_and_certificates("ssl.keystore.location", path, password)
        return {"ssl.certificate.pem": chain, "ssl.key.pem": key}
    raise ConfigError.invalid(
        "ssl.keystore.location",
        path,
        "Java's own JKS format cannot be read. Convert it with 'keytool -importkeystore -srckeystore "
        f"{path} -destkeystore {path}.p12 -deststoretype PKCS12' and set ssl.keystore.type=PKCS12",
    )


def _kind(settings: Mapping[str, str], prefix: str) -> str:
    """What a store is: told by its first bytes, since Java reads PKCS12 as JKS too; else what the settings say."""
    path = settings[f"{prefix}.location"]
    try:
        with Path(path).open("rb") as file:
            start = file.read(4)
    except OSError as error:
        raise ConfigError.invalid(
            f"{prefix}.location", path, f"The file cannot be read: {error.strerror or error}"
        ) from error
    if start == _JAVA_STORE:
        return "JKS"
    if start[:1] == b"\x30":
        return "PKCS12"
    return "PEM"
