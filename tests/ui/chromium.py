"""A Chromium for the tests of the web page: found, or installed from Debian's packages."""

from __future__ import annotations

import os
import shutil
import subprocess

_NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
_INSTALL_SECONDS = 600


def find_chromium() -> str:
    """The path of a Chromium; ``RuntimeError`` says what to do when there is none and none can be installed."""
    found = _found()
    if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
        _install()
        found = _found()
    if found is None:
        raise RuntimeError(
            "The tests of the web page need Chromium, and this machine has none on its PATH. "
            "Install it (Debian, Ubuntu: apt install chromium) and run them again."
        )
    return found


def _found() -> str | None:
    return next((path for path in map(shutil.which, _NAMES) if path), None)


def _install() -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["apt-get", "update"], ["apt-get", "install", "-y", "--no-install-recommends", "chromium"]):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=_INSTALL_SECONDS)
        if done.returncode:
            raise RuntimeError(
                f"The tests of the web page need Chromium; '{' '.join(command)}' ended with {done.returncode}:\n"
                f"{(done.stdout + done.stderr)[-2000:]}"
            )
