"""The web page at ``/ui/``: files of the package, read when somebody first asks for them, and their headers.

``/ui/`` is the document and is asked for again at every visit; everything else has the digest of all files in its
path (``/ui/<digest>/lib/dom.js``) and is kept by browsers for good. The document names the digest, so a new version
of the worker is a new set of paths. Under another digest the present files are sent, and not kept.
"""

from __future__ import annotations

import gzip
import hashlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .answers import Answer, to_json
from .problems import ErrorMessage, method_not_allowed, not_found

PREFIX = b"/ui"
PAGE = Path(__file__).parents[1] / "ui" / "page"
POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_TYPES = {
    "html": b"text/html; charset=utf-8",
    "css": b"text/css; charset=utf-8",
    "js": b"text/javascript; charset=utf-8",
    "svg": b"image/svg+xml",
}
_SAFE = (
    (b"content-security-policy", POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"vary", b"accept-encoding"),
)
_KEEP = (b"cache-control", b"public, max-age=31536000, immutable")
_ASK = (b"cache-control", b"no-cache")
_ALLOW = b"GET, HEAD, OPTIONS"
_DOCUMENT = "index.html"
_CLASSIC_SCRIPT = "theme.js"
_DIGEST_MARK = b"@digest"
_MODULES_MARK = b"<!-- modules -->"


@dataclass(frozen=True)
class _File:
    content: bytes
    packed: bytes
    content_type: bytes
    tag: bytes

    @classmethod
    def of(cls, name: str, content: bytes) -> _File:
        digest = hashlib.sha256(content).hexdigest()[:20].encode()
        packed = gzip.compress(content, 9, mtime=0)
        return cls(content, packed, _TYPES[name.rsplit(".", 1)[-1]], digest)


class StaticFiles:
    """Answers for every path at or below ``/ui``, from any thread. Nothing is read before it is asked for."""

    def __init__(self, folder: Path = PAGE) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._loaded: tuple[str, Mapping[str, _File]] | None = None

    @staticmethod
    def owns(raw_path: bytes) -> bool:
        """Whether a path is one of the page."""
        return raw_path == PREFIX or raw_path.startswith(PREFIX + b"/")

    def answer(self, method: str, raw_path: bytes, headers: Sequence[tuple[bytes, bytes]]) -> Answer:
        """Blocks for some milliseconds the first time. Raises ``HttpProblem``."""
        if method == "OPTIONS":
            return Answer(200, b"", [(b"allow", _ALLOW)])
        if method not in ("GET", "HEAD"):
            raise method_not_allowed(_ALLOW)
        if raw_path == PREFIX:
            return Answer(308, to_json(ErrorMessage(308, "The page is at /ui/")), [(b"location", b"ui/")])
        digest, found = self._all()
        asked, _, name = raw_path[len(PREFIX) + 1 :].decode("latin-1").partition("/")
        if not asked:
            return _sent(found[_DOCUMENT], headers, _ASK)
        if name not in found or name == _DOCUMENT:
            raise not_found()
        return _sent(found[name], headers, _KEEP if asked == digest else _ASK)

    def _all(self) -> tuple[str, Mapping[str, _File]]:
        with self._lock:
            if self._loaded is None:
                self._loaded = _load(self._folder)
            return self._loaded


def _load(folder: Path) -> tuple[str, Mapping[str, _File]]:
    contents = dict(sorted(_contents(folder)))
    together = hashlib.sha256()
    for name, content in contents.items():
        together.update(b"%s\0%d\0%s" % (name.encode(), len(content), content))
    digest = together.hexdigest()[:16]
    modules = b"".join(
        b'<link rel="modulepreload" href="%s/%s">' % (digest.encode(), name.encode())
        for name in contents
        if name.endswith(".js") and name != _CLASSIC_SCRIPT
    )
    document = contents[_DOCUMENT].replace(_MODULES_MARK, modules).replace(_DIGEST_MARK, digest.encode())
    contents[_DOCUMENT] = document
    return digest, {name: _File.of(name, content) for name, content in contents.items()}


def _contents(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in folder.rglob("*"):
        if path.suffix[1:] in _TYPES:
            yield path.relative_to(folder).as_posix(), path.read_bytes()


def _sent(file: _File, headers: Sequence[tuple[bytes, bytes]], caching: tuple[bytes, bytes]) -> Answer:
    sent = [*_SAFE, caching]
    packed = any(name == b"accept-encoding" and b"gzip" in value for name, value in headers)
    tag = b'"%s%s"' % (file.tag, b"-gzip" if packed else b"")
    sent.append((b"etag", tag))
    if packed:
        sent.append((b"content-encoding", b"gzip"))
    known = b",".join(value for name, value in headers if name == b"if-none-match")
    if tag in known or known.strip() == b"*":
        return Answer(304, b"", [header for header in sent if header[0] != b"content-encoding"])
    return Answer(200, file.packed if packed else file.content, sent, file.content_type)
