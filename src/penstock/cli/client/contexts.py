"""Contexts: the workers a user has, by name, with what is needed to talk to them.

They are kept in one YAML file that only the user can read. What is replaced is written anew beside it and moved over
it, so a crash leaves the old file or the new one.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ..output import DEFAULT_URL
from .close_names import did_you_mean
from .problems import Missing, Wrong

FILE_VARIABLE = "PENSTOCK_CONTEXTS"
URL_VARIABLE = "PENSTOCK_URL"
CONTEXT_VARIABLE = "PENSTOCK_CONTEXT"


@dataclass(frozen=True)
class Context:
    """How to talk to one worker. ``password_env`` and ``token_env`` name environment variables."""

    url: str
    username: str | None = None
    password: str | None = None
    password_env: str | None = None
    token: str | None = None
    token_env: str | None = None
    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    insecure: bool = False

    def facts(self) -> dict[str, Any]:
        """What is set, secrets left out."""
        secret = {"password", "token"}
        shown = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: "(set)" if name in secret else value for name, value in shown.items() if value}


@dataclass
class Contexts:
    """All contexts of the user, and the one in use."""

    path: Path
    current: str | None = None
    known: dict[str, Context] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path | None = None) -> Contexts:
        """What the file says; nothing without one. Raises :class:`Wrong`."""
        import yaml

        path = path or contexts_file()
        try:
            content = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
        except FileNotFoundError:
            return cls(path)
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise Wrong(f"Cannot read the contexts in {path}: {error}", "Mend the file, or remove it.") from error
        return cls(path, *_parsed(content, path))

    def save(self) -> None:
        """Write the file, readable by the user alone."""
        import yaml

        content = {
            "current": self.current,
            "contexts": {name: _written(context) for name, context in sorted(self.known.items())},
        }
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle, draft = tempfile.mkstemp(dir=self.path.parent, prefix=".contexts-")
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    yaml.safe_dump(content, file, sort_keys=False, allow_unicode=True)
                os.replace(draft, self.path)
            except BaseException:
                os.unlink(draft)
                raise
        except OSError as error:
            raise Wrong(f"Cannot write the contexts to {self.path}: {error}") from error

    def get(self, name: str) -> Context:
        """Raises :class:`Missing`."""
        found = self.known.get(name)
        if found is None:
            there = f"There are: {', '.join(sorted(self.known))}." if self.known else "There is none yet."
            hint = did_you_mean(name, self.known, f"penstock context add {name} --url URL")
            raise Missing(f"There is no context '{name}'. {there}", hint)
        return found


def choose(url: str | None, context: str | None) -> Context:
    """The worker to talk to: the options, then the environment, then the context in use, then this machine."""
    if url is not None and context is not None:
        raise Wrong("--url and --context name a worker each.", "Use one of them.")
    if url is None and context is None:
        url, context = os.environ.get(URL_VARIABLE) or None, os.environ.get(CONTEXT_VARIABLE) or None
    if url is not None:
        check_url(url)
        return with_url(url)
    contexts = Contexts.load()
    wanted = context or contexts.current
    return Context(DEFAULT_URL) if wanted is None else contexts.get(wanted)


def with_url(url: str) -> Context:
    """The context with this URL, the one in use before others, for its credentials and files.

    The URL alone has to do where there is none, where contexts cannot be read, and where it holds credentials itself.
    """
    try:
        contexts = Contexts.load()
    except (Wrong, RuntimeError):
        return Context(url)
    same = [name for name in sorted(contexts.known) if _place(contexts.known[name].url) == _place(url)]
    if not same or urlsplit(url).username is not None:
        return Context(url)
    name = next((name for name in same if name == contexts.current), same[0])
    return replace(contexts.known[name], url=url)


def check_url(url: str) -> None:
    """Raises :class:`Wrong` for what cannot be the URL of a worker."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise Wrong(f"'{url}' is not the URL of a worker.", "It looks like http://host:8083 or https://host:8443.")


def contexts_file() -> Path:
    """Where the contexts are kept: in the user's config folder, or where ``PENSTOCK_CONTEXTS`` says."""
    given = os.environ.get(FILE_VARIABLE)
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "penstock" / "contexts.yaml"


def _place(url: str) -> tuple[str, str | None, int | None, str]:
    """What a URL names, however it is spelled."""
    parts = urlsplit(url)
    try:
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        port = None
    return parts.scheme, parts.hostname, port, parts.path.rstrip("/")


def _written(context: Context) -> dict[str, Any]:
    return {each.name: value for each in fields(context) if (value := getattr(context, each.name))}


def _parsed(content: Any, path: Path) -> tuple[str | None, dict[str, Context]]:
    contexts = content.get("contexts") if isinstance(content, Mapping) else None
    if not isinstance(content, Mapping) or not isinstance(contexts or {}, Mapping):
        raise Wrong(f"{path} is not a file of contexts.", "Remove it and add your contexts again.")
    names = {each.name for each in fields(Context)}
    known: dict[str, Context] = {}
    for name, values in (contexts or {}).items():
        if not isinstance(values, Mapping) or not isinstance(values.get("url"), str) or not values.keys() <= names:
            raise Wrong(f"Context '{name}' in {path} cannot be used.", f"penstock context add {name} --url URL")
        known[str(name)] = Context(**values)
    current = content.get("current")
    return (current if current in known else None), known
