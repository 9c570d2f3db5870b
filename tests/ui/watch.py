"""What must never happen on the page: errors, questions to strangers, broken policy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import ConsoleMessage, Page, Request

_ANSWERED = "Failed to load resource: the server responded with a status of 4"
_VIOLATIONS = """
window.penstockViolations = [];
document.addEventListener("securitypolicyviolation", (event) => {
  window.penstockViolations.push(`${event.violatedDirective}: ${event.blockedURI}`);
});
"""


@contextmanager
def watched(page: Page, origin: str) -> Iterator[None]:
    """Fails at its end with everything that was wrong. Answers of the API that say no are no errors."""
    wrong: list[str] = []

    def console(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not message.text.startswith(_ANSWERED):
            wrong.append(f"console: {message.text}")

    def request(sent: Request) -> None:
        if not sent.url.startswith((f"{origin}/", "data:", "blob:")):
            wrong.append(f"asked a stranger: {sent.url}")

    page.on("console", console)
    page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
    page.on("request", request)
    page.add_init_script(_VIOLATIONS)
    yield
    wrong.extend(page.evaluate("window.penstockViolations ?? []"))
    assert not wrong, wrong
