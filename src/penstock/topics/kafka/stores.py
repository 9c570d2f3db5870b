"""PKCS12 stores, as Java's keytool makes them, in PEM: the one format that every client here reads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from penstock.api.errors import ConfigError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12KeyAndCertificates
    from cryptography.x509 import Certificate


def trusted_certificates(key: str, path: str, password: str) -> str:
    """All certificates of a truststore. ``key`` is the setting that names it. Raises ``ConfigError``."""
    store = _opened(key, path, password)
    own = [] if store.cert is None else [store.cert]
    found = [entry.certificate for entry in [*own, *store.additional_certs]]
    if not found:
        raise ConfigError.invalid(key, path, "There is no certificate in this store")
    return "".join(map(_pem, found))


def key_and_certificates(key: str, path: str, password: str) -> tuple[str, str]:
    """The private key of a keystore, not encrypted, and its certificate with those behind it."""
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    store = _opened(key, path, password)
    if store.key is None or store.cert is None:
        raise ConfigError.invalid(key, path, "There is no private key with a certificate in this store")
    private = store.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    return private, "".join(_pem(entry.certificate) for entry in [store.cert, *store.additional_certs])


def _opened(key: str, path: str, password: str) -> PKCS12KeyAndCertificates:
    try:
        from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12
    except ImportError as error:
        raise ConfigError.invalid(
            key,
            path,
            "Reading PKCS12 needs a package that is not installed: pip install 'penstock[kafka]', or convert it to PEM "
            f"with 'openssl pkcs12 -in {path} -nodes -out store.pem'",
        ) from error
    try:
        return load_pkcs12(Path(path).read_bytes(), password.encode() if password else None)
    except (OSError, ValueError) as error:
        detail = f"The store cannot be opened with {key.removesuffix('.location')}.password: {error}"
        raise ConfigError.invalid(key, path, detail) from error


def _pem(certificate: Certificate) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding

    return certificate.public_bytes(Encoding.PEM).decode()
