"""Network namespaces: a worker whose link to all others can be cut, as when somebody pulls a cable."""

from __future__ import annotations

import ctypes
import itertools
import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

from .alone import alone

CLONE_NEWNET = 0x40000000
_numbers = itertools.count(1)
_libc = ctypes.CDLL(None, use_errno=True)


def why_not() -> str | None:
    """Why namespaces cannot be used here; ``None`` when they can."""
    if os.geteuid() != 0:
        return "cutting a network needs root: run the tests as root, as CI does, to have this one"
    if not _has_command():
        return "cutting a network needs the command ip: install the package iproute2 to have this test"
    try:
        with Namespace():
            return None
    except AssertionError as error:
        return f"cutting a network needs network namespaces, which this machine refuses: {error}"


def _has_command() -> bool:
    with alone("apt"):
        return shutil.which("ip") is not None or _install()


def _install() -> bool:
    """From Debian, as other tools of the tests are."""
    if shutil.which("apt-get") is None:
        return False
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for arguments in (["update"], ["install", "-y", "--no-install-recommends", "iproute2"]):
        with suppress(subprocess.TimeoutExpired):
            subprocess.run(["apt-get", "-q", *arguments], env=quiet, capture_output=True, timeout=300, check=False)
    return shutil.which("ip") is not None


class Namespace:
    """A namespace with one cable to this machine: ``outside`` is our end's address, ``inside`` the other's.

    A context manager. Processes enter it with :meth:`enter`.
    """

    def __init__(self) -> None:
        number = next(_numbers)
        self.name = f"pen-{os.getpid()}-{number}"
        self._cable = f"pen{os.getpid() % 100_000}a{number}"
        self._plug = f"pen{os.getpid() % 100_000}b{number}"
        third = os.getpid() % 250 + 1
        self.outside, self.inside = f"10.213.{third}.{4 * number + 1}", f"10.213.{third}.{4 * number + 2}"

    def __enter__(self) -> Namespace:
        try:
            _ip("netns", "add", self.name)
            _ip("link", "add", self._cable, "type", "veth", "peer", "name", self._plug)
            _ip("link", "set", self._plug, "netns", self.name)
            _ip("addr", "add", f"{self.outside}/30", "dev", self._cable)
            _ip("link", "set", self._cable, "up")
            self._inside("addr", "add", f"{self.inside}/30", "dev", self._plug)
            self._inside("link", "set", "lo", "up")
            self.join()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        for arguments in (("link", "del", self._cable), ("netns", "del", self.name)):
            with suppress(AssertionError):
                _ip(*arguments)

    def cut(self) -> None:
        """From now on nothing goes in or out, and nobody is told."""
        self._inside("link", "set", self._plug, "down")

    def join(self) -> None:
        """The cable is plugged in (again)."""
        self._inside("link", "set", self._plug, "up")

    def enter(self) -> None:
        """Move the calling process, which must have one thread, into the namespace."""
        handle = os.open(str(Path("/var/run/netns") / self.name), os.O_RDONLY)
        try:
            if _libc.setns(handle, CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), "setns")
        finally:
            os.close(handle)

    def _inside(self, *arguments: str) -> None:
        _ip("-n", self.name, *arguments)


def _ip(*arguments: str) -> None:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True)
    assert not done.returncode, f"ip {' '.join(arguments)}: {done.stderr}"
