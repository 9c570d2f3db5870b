"""An OpenID provider for tests: tokens for a client's id and secret, and the key that proves them."""

from __future__ import annotations

import base64
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

CLIENT, SECRET = "penstock", "open sesame"
_KEY_NAME = "the only one"


class TokenService:
    """``POST /token`` and ``GET /keys``. A context manager. ``given`` counts tokens; each lasts ``seconds``."""

    def __init__(self, seconds: int = 3600) -> None:
        self.seconds = seconds
        self.given = 0
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> TokenService:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def keys(self) -> dict[str, Any]:
        """What a broker needs to check tokens (RFC 7517)."""
        numbers = self._key.public_key().public_numbers()
        n, e = (_text(number.to_bytes((number.bit_length() + 7) // 8, "big")) for number in (numbers.n, numbers.e))
        return {"keys": [{"kty": "RSA", "use": "sig", "alg": "RS256", "kid": _KEY_NAME, "n": n, "e": e}]}

    def token(self) -> str:
        """A new one (RFC 7519)."""
        self.given += 1
        now = int(time.time())
        head = {"alg": "RS256", "typ": "JWT", "kid": _KEY_NAME}
        claims = {"sub": CLIENT, "iat": now, "exp": now + self.seconds, "scope": "kafka"}
        signed = ".".join(_text(json.dumps(part).encode()) for part in (head, claims))
        return f"{signed}.{_text(self._key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256()))}"

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer(200, service.keys())

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                login = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
                if self.headers.get("Authorization") != f"Basic {login}":
                    self._answer(401, {"error": "invalid_client"})
                    return
                found = {"access_token": service.token(), "token_type": "Bearer", "expires_in": service.seconds}
                self._answer(200, found)

            def _answer(self, status: int, content: Any) -> None:
                body = json.dumps(content).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments: Any) -> None:
                """Nobody wants to see it."""

        return Handler


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
