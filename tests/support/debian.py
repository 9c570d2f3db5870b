"""Programs from Debian's packages that tests need: found, or installed."""

from __future__ import annotations

import os
import shutil
import subprocess

from .alone import alone

_INSTALL_SECONDS = 600


def find_program(package: str, names: tuple[str, ...], tests: str) -> str:
    """The path of the first of these programs that there is; ``package`` is installed if there is none and we may.

    ``RuntimeError`` says what ``tests`` need it and what to do when there is none and none can be installed.
    """
    with alone("apt"):
        found = _found(names)
        if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
            _install(package, tests)
            found = _found(names)
    if found is None:
        raise RuntimeError(
            f"{tests} need {' or '.join(names)}, and this machine has none on its PATH. "
            f"Install it (Debian, Ubuntu: apt install {package}) and run them again."
        )
    return found


def _found(names: tuple[str, ...]) -> str | None:
    return next((path for path in map(shutil.which, names) if path), None)


def _install(package: str, tests: str) -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["apt-get", "update"], ["apt-get", "install", "-y", "--no-install-recommends", package]):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=_INSTALL_SECONDS)
        if done.returncode:
            raise RuntimeError(
                f"{tests} need {package}; '{' '.join(command)}' ended with {done.returncode}:\n"
                f"{(done.stdout + done.stderr)[-2000:]}"
            )
