"""A broker that wants to know who comes: by SASL over TLS, or by a certificate. Clients say it in Java's words."""

from __future__ import annotations

from pathlib import Path

from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    load_pem_private_key,
    pkcs12,
)
from cryptography.x509 import load_pem_x509_certificate

from .certificates import make_certificate
from .kafka import KafkaBroker
from .ports import free_port
from .token_service import CLIENT, SECRET, TokenService

PASSWORD = "wonder land"
NAME = "alice,b=c"
"""It has to be escaped in SCRAM."""

_MODULES = "org.apache.kafka.common.security"
_LOGINS = {
    "PLAIN": f"{_MODULES}.plain.PlainLoginModule required",
    "SCRAM-SHA-256": f"{_MODULES}.scram.ScramLoginModule required",
    "SCRAM-SHA-512": f"{_MODULES}.scram.ScramLoginModule required",
    "OAUTHBEARER": f"{_MODULES}.oauthbearer.OAuthBearerLoginModule required",
}


class SecuredKafka:
    """A context manager. ``broker`` has an open door as well, for tests to look in."""

    def __init__(self, folder: Path) -> None:
        self._both, self.ca = make_certificate(folder)
        self._folder = folder
        self._tokens = TokenService()
        self._sasl, self._ssl = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
        doors = {"SASL_SSL": self._sasl, "SSL": self._ssl}
        self.broker = KafkaBroker(self._settings(), doors=doors, java_options=[_may_ask(self._tokens.url)])

    def __enter__(self) -> SecuredKafka:
        self._tokens.__enter__()
        self.broker.__enter__()
        self._add_user()
        return self

    def __exit__(self, *error: object) -> None:
        self.broker.__exit__(*error)
        self._tokens.__exit__(*error)

    def keys_for(self, way: str) -> dict[str, str]:
        """``certificate``, or a SASL mechanism."""
        if way == "certificate":
            return self.by_certificate()
        return self.by_token() if way == "OAUTHBEARER" else self.by_login(way)

    def by_login(self, mechanism: str, password: str = PASSWORD) -> dict[str, str]:
        """The keys of a Java client that comes with a name and a password; its truststore is a PEM file."""
        name = "alice" if mechanism == "PLAIN" else NAME
        return {
            "bootstrap.servers": self._sasl,
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": mechanism,
            "sasl.jaas.config": f'{_LOGINS[mechanism]} username="{name}" password="{password}";',
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.ca),
        }

    def by_token(self) -> dict[str, str]:
        """Of one that gets tokens from an OpenID provider; its truststore is within the settings."""
        return {
            "bootstrap.servers": self._sasl,
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.login.callback.handler.class": f"{_MODULES}.oauthbearer.OAuthBearerLoginCallbackHandler",
            "sasl.oauthbearer.token.endpoint.url": f"{self._tokens.url}/token",
            "sasl.jaas.config": f'{_LOGINS["OAUTHBEARER"]} clientId="{CLIENT}" clientSecret="{SECRET}" scope="kafka";',
            "ssl.truststore.type": "PEM",
            "ssl.truststore.certificates": self.ca.read_text(),
        }

    def by_certificate(self) -> dict[str, str]:
        """Of one with a certificate; its stores are PKCS12, as Java's keytool makes them."""
        certificate = load_pem_x509_certificate(self.ca.read_bytes())
        key = load_pem_private_key(self._both.read_bytes(), None)
        secrecy = BestAvailableEncryption(PASSWORD.encode())
        own, trusted = self._folder / "own.p12", self._folder / "trusted.p12"
        own.write_bytes(pkcs12.serialize_key_and_certificates(b"own", key, certificate, None, secrecy))  # type: ignore[arg-type]
        trusted.write_bytes(pkcs12.serialize_key_and_certificates(None, None, None, [certificate], secrecy))
        return {
            "bootstrap.servers": self._ssl,
            "security.protocol": "SSL",
            "ssl.truststore.location": str(trusted),
            "ssl.truststore.password": PASSWORD,
            "ssl.keystore.type": "PKCS12",
            "ssl.keystore.location": str(own),
            "ssl.keystore.password": PASSWORD,
        }

    def _settings(self) -> dict[str, str]:
        door = "listener.name.sasl_ssl"
        logins = {f"{door}.{each.lower()}.sasl.jaas.config": f"{login};" for each, login in _LOGINS.items()}
        checker = f"{_MODULES}.oauthbearer.OAuthBearerValidatorCallbackHandler"
        return {
            **logins,
            f"{door}.plain.sasl.jaas.config": f'{_LOGINS["PLAIN"]} user_alice="{PASSWORD}";',
            f"{door}.oauthbearer.sasl.server.callback.handler.class": checker,
            f"{door}.oauthbearer.sasl.oauthbearer.jwks.endpoint.url": f"{self._tokens.url}/keys",
            "sasl.enabled.mechanisms": ",".join(_LOGINS),
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self._both),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.ca),
            "listener.name.ssl.ssl.client.auth": "required",
        }

    def _add_user(self) -> None:
        admin = AdminClient({"bootstrap.servers": self.broker.bootstrap})
        for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
            user = UserScramCredentialUpsertion(NAME, ScramCredentialInfo(mechanism, 4096), PASSWORD.encode())
            admin.alter_user_scram_credentials([user])[NAME].result(30)


def _may_ask(url: str) -> str:
    """Java's clients ask only those for keys that they are allowed to."""
    return f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={url}/keys"
