"""What looks like a secret in a configuration. Imports next to nothing: the command line uses it, too."""

from __future__ import annotations

import re
from collections.abc import Set

from penstock.api.config_values import Password

HIDDEN = Password.HIDDEN

_SECRET = (
    "password|passwd|passphrase|secret|token|credential|authorization|cookie|api[._-]?key|private[._-]?key|jaas"
    "|keystore[._-]?key|user[._-]?info"
)
_SUSPICIOUS = re.compile(_SECRET, re.I)
_IN_URL = re.compile(r"(?<=://)([^\s/:@]*:)[^\s/]+(?=@)")
_WORD = r"[^\s=?&;,]{0,64}"
_PARAMETER = re.compile(rf"((?:^|[?&;,\s]){_WORD}(?:{_SECRET}){_WORD}=)(?!\$\{{)[^\s&;]+", re.I)
_REFERENCE = re.compile(r"\$\{[^{}]*\}")


def shown(key: str, value: str, declared: Set[str] = frozenset()) -> str:
    """A value as anybody may see it: hidden if it is a secret, without passwords if it is a URL."""
    if is_secret(key, value, declared):
        return HIDDEN
    return _PARAMETER.sub(rf"\1{HIDDEN}", _IN_URL.sub(rf"\1{HIDDEN}", value))


def is_secret(key: str, value: str, declared: Set[str] = frozenset()) -> bool:
    """Whether a key is called like a secret, or ``declared`` as one; references such as ``${env:X}`` tell nothing."""
    if _REFERENCE.fullmatch(value):
        return False
    return key in declared or _SUSPICIOUS.search(key) is not None
