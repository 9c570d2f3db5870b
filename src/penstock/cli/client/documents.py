"""JSON and YAML that users write, read as it was meant: JSON by its own rules, YAML without guesses about types."""

from __future__ import annotations

import json
from typing import Any


class NotReadable(ValueError):
    """A text that is not one document; the message names places in it."""


def yaml_texts(text: str, file: str) -> Any:
    """The one YAML document of a text, ``None`` without one. Plain values are the text that was written: ``12:30``
    and ``no`` stay what they are. Only below ``offsets`` they are numbers and booleans. Raises :class:`NotReadable`.
    """
    return _document(text, file, False)


def native_values(text: str, file: str) -> Any:
    """What a text of JSON or YAML holds, with numbers and booleans. Raises :class:`NotReadable`."""
    try:
        return json.loads(text)
    except ValueError:
        return _document(text, file, True)


def _document(text: str, file: str, native: bool) -> Any:
    from penstock.runtime.provisioning.documents import read_documents
    from penstock.runtime.provisioning.problems import errors_text

    documents, problems = read_documents(text, file, native)
    if problems:
        raise NotReadable(errors_text(problems))
    if len(documents) > 1:
        raise NotReadable(f"{file}: there are {len(documents)} documents; one is needed.")
    return documents[0].value if documents else None
