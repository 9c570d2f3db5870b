"""TLS between the driver and lanes of other machines, where Spark is told to encrypt what goes between its processes.

The driver makes a key and a certificate for each session of Spark. The certificate travels to executors in the lane's
task, as the secret does, and a lane trusts that one alone. Executors need nothing but Python; the key never leaves the
driver's memory but for the moment in which Python loads it, encrypted, from a file.
"""

from __future__ import annotations

import datetime
import secrets
import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

KEYS = (
    "spark.network.crypto.enabled",
    "spark.authenticate.enableSaslEncryption",
    "spark.ssl.rpc.enabled",
    "spark.ssl.enabled",
)
"""Each of these, being true, says that connections are to be encrypted. ``spark.authenticate`` alone does not."""

PACKAGE = "cryptography"
INSTALL = "pip install 'penstock[kafka]' (or: pip install cryptography)"
NAME = "penstock-driver"
"""What the certificate is made out to: whoever has the key is the driver, whatever its address."""

_ALWAYS = datetime.datetime(2000, 1, 1), datetime.datetime(9999, 12, 31)
"""The certificate ends with the session. Clocks of executors are no matter."""


class NoEncryptionError(RuntimeError):
    """Lanes have to be encrypted and cannot be; the text names the key and the way out."""


@dataclass(frozen=True)
class Identity:
    """What the driver answers calls with, and the certificate (PEM) that lanes know it by."""

    context: ssl.SSLContext
    certificate: str


def wanted_by(settings: Mapping[str, str]) -> str | None:
    """The key of Spark because of which lanes are encrypted, if there is one."""
    return next((key for key in KEYS if is_true(settings.get(key))), None)


def is_true(value: str | None) -> bool:
    return (value or "").strip().lower() == "true"


def check_encryption(settings: Mapping[str, str]) -> None:
    """Raises :class:`NoEncryptionError` when these settings want encryption that cannot be had here."""
    key = wanted_by(settings)
    if key is None:
        return
    try:
        import cryptography.x509  # noqa: F401
    except ImportError as error:
        raise NoEncryptionError(
            f"{key}=true wants connections between worker and executors encrypted, and those of lanes need the package "
            f"{PACKAGE} for it, which cannot be imported here ({error}). Install it where the worker runs: {INSTALL}; "
            f"executors do without. Or set {key}=false"
        ) from error


def make_identity() -> Identity:
    """A new key and its certificate."""
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat

    key = ec.generate_private_key(ec.SECP256R1())
    certificate = _certificate(key)
    password = secrets.token_bytes(32).hex()
    locked = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(password.encode()))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.num_tickets = 0  # lanes call once; tickets would look like messages that come
    with tempfile.TemporaryDirectory(prefix="penstock-") as folder:
        chain = Path(folder) / "driver.pem"
        chain.write_bytes(locked + certificate.encode())
        context.load_cert_chain(chain, password=password)
    return Identity(context, certificate)


def lane_context(certificate: str) -> ssl.SSLContext:
    """For a lane: believes the driver that has this certificate, and nobody else."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_verify_locations(cadata=certificate)
    return context


def _certificate(key: EllipticCurvePrivateKey) -> str:
    from cryptography import x509
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.serialization import Encoding
    from cryptography.x509.oid import NameOID

    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, NAME)])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_ALWAYS[0])
        .not_valid_after(_ALWAYS[1])
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
        .sign(key, SHA256())
    )
    return made.public_bytes(Encoding.PEM).decode()
