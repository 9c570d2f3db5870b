"""Certificates for tests, made when they are needed."""

from __future__ import annotations

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def make_certificate(folder: Path, password: bytes | None = None) -> tuple[Path, Path]:
    """A self-signed certificate of 127.0.0.1, with its key (which may have a password) and without."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    public = certificate.public_bytes(serialization.Encoding.PEM)
    secrecy: serialization.KeySerializationEncryption = serialization.NoEncryption()
    if password is not None:
        secrecy = serialization.BestAvailableEncryption(password)
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, secrecy)
    both, alone = folder / "broker.pem", folder / "ca.pem"
    both.write_bytes(private + public)
    alone.write_bytes(public)
    return both, alone
