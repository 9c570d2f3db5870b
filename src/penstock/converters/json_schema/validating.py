"""Messages checked against their JSON Schema, with an optional package."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from penstock.api.errors import ConfigError, DataError

Validate = Callable[[bytes], None]

PACKAGE = "jsonschema-rs"


def require_validator() -> None:
    """Raise :class:`ConfigError` when the package is not there."""
    try:
        import jsonschema_rs  # noqa: F401
    except ImportError:
        raise ConfigError(
            f"json.fail.invalid.schema=true needs the package {PACKAGE}: pip install 'penstock[json-schema]'"
        ) from None


def validator(text: str, referenced: Mapping[str, str]) -> Validate:
    """A function that raises :class:`DataError` for JSON that its schema does not accept."""
    import jsonschema_rs

    def retrieve(uri: str) -> Any:
        name = next((name for name in referenced if uri == name or uri.endswith("/" + name)), None)
        if name is None:
            raise DataError(f"The JSON Schema refers to {uri}, which is none of its references in the registry")
        return json.loads(referenced[name])

    try:
        checker = jsonschema_rs.validator_for(json.loads(text), retriever=retrieve)
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        raise DataError(f"The JSON Schema cannot be used to check messages: {error}") from None

    def validate(payload: bytes) -> None:
        problems = [
            f"#/{'/'.join(map(str, error.instance_path))}: {error.message}"
            for error in checker.iter_errors(json.loads(payload))
        ]
        if problems:
            raise DataError(f"Validation error in JSON, Error report: {'; '.join(problems)}")

    return validate
