"""A Chromium for the tests of the web page: found, or installed from Debian's packages."""

from __future__ import annotations

from tests.support.debian import find_program

_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
# The first one has no window and nothing around it: it takes little more than half of the processor time.


def find_chromium() -> str:
    """The path of a Chromium; ``RuntimeError`` says what to do when there is none and none can be installed."""
    return find_program(_NAMES[0], _NAMES, "The tests of the web page")
