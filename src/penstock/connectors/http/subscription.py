"""What the source registers with the remote service: made, moved and removed by its lifecycle hooks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.api import ConfigDef, ConfigKey, Importance, Type, one_of

from .client import HttpClient, refusal
from .keys import add, web_address
from .texts import fill, for_json, for_url, unknown_placeholders

GROUP = "Subscription"
PLACEHOLDERS = ("id", "name", "topic", "url")

KEYS = ConfigDef(
    ConfigKey(
        "subscription.url",
        Type.STRING,
        "",
        Importance.MEDIUM,
        "Where the service keeps subscriptions. If set, one is made there before the first start, moved when its keys"
        " change, and removed after the connector was deleted. Its own address is this one with the id in place of"
        " {id}, or after a slash at the end.",
        web_address,
        GROUP,
    ),
    ConfigKey(
        "subscription.id",
        Type.STRING,
        "",
        Importance.LOW,
        "The id of the subscription; the name of the connector if not set. It must be ours to choose: that is how the"
        " subscription is found again.",
        None,
        GROUP,
    ),
    ConfigKey(
        "subscription.method",
        Type.STRING,
        "PUT",
        Importance.LOW,
        "How to make it: PUT to its own address, or POST to subscription.url with the id in the body, where 409 says"
        " that it is there already.",
        one_of("PUT", "POST"),
        GROUP,
    ),
    ConfigKey(
        "subscription.body",
        Type.STRING,
        '{"id": "{id}"}',
        Importance.MEDIUM,
        "The JSON to send. {id}, {name} (of the connector), {topic} and {url} (http.url) are filled in.",
        None,
        GROUP,
    ),
)


@dataclass(frozen=True)
class Subscription:
    """One subscription: where it is, what it says, and the settings for requests about it."""

    made_at: str
    kept_at: str
    method: str
    body: bytes
    settings: Mapping[str, str]

    @classmethod
    def of(cls, config: Mapping[str, str]) -> Subscription | None:
        """The subscription that a configuration asks for, if any."""
        own = KEYS.parse(config)
        url: str = own["subscription.url"]
        if not url:
            return None
        identity = own["subscription.id"] or config.get("name", "")
        kept_at = url if "{id}" in url else f"{url.rstrip('/')}/{{id}}"
        made_at = kept_at if own["subscription.method"] == "PUT" else url.replace("/{id}", "").replace("{id}", "")
        body = fill(own["subscription.body"], _values(config, identity), for_json).encode()
        address = fill(kept_at, {"id": identity}, for_url)
        return cls(fill(made_at, {"id": identity}, for_url), address, own["subscription.method"], body, config)

    def make(self) -> None:
        """Make it, or make it what it should be if it is there. Tried again for a while if there is no answer."""
        with HttpClient(self.settings) as client:
            answer = client.request(self.method, self.made_at, body=self.body, headers=_JSON)
            if self.method == "POST" and answer.status == 409:
                self._remove(client)
                answer = client.request(self.method, self.made_at, body=self.body, headers=_JSON)
        if not answer.ok:
            raise refusal(self.method, self.made_at, answer)

    def remove(self) -> None:
        """Remove it; one that is not there is fine. Tried once: the runtime comes back."""
        with HttpClient(self.settings) as client:
            self._remove(client)

    def _remove(self, client: HttpClient) -> None:
        answer = client.request("DELETE", self.kept_at, tries=1)
        if not answer.ok and answer.status not in (404, 410):
            raise refusal("DELETE", self.kept_at, answer)


_JSON = {"Content-Type": "application/json"}


def move(old: Subscription | None, new: Subscription | None) -> None:
    """Bring the service from one subscription to another: the new one is there before the old one goes."""
    if new is not None:
        new.make()
    if old is not None and (new is None or new.kept_at != old.kept_at):
        old.remove()


def check(settings: Mapping[str, str], errors: dict[str, list[str]]) -> None:
    """Add what is wrong with the keys of the subscription."""
    own = KEYS.parse(settings)
    if not own["subscription.url"]:
        return
    unknown = unknown_placeholders(own["subscription.url"], ("id",))
    if unknown:
        add(errors, "subscription.url", f"{{{unknown[0]}}} means nothing here; {{id}} does")
    unknown = unknown_placeholders(own["subscription.body"], PLACEHOLDERS)
    if unknown:
        known = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
        add(errors, "subscription.body", f"{{{unknown[0]}}} means nothing here; these do: {known}")
    try:
        json.loads(fill(own["subscription.body"], dict.fromkeys(PLACEHOLDERS, "x"), for_json))
    except ValueError as error:
        add(errors, "subscription.body", f"this is not JSON: {error}")


def _values(config: Mapping[str, str], identity: str) -> dict[str, Any]:
    names = {"name": "name", "topic": "topic", "url": "http.url"}
    return {"id": identity, **{name: config.get(key, "") for name, key in names.items()}}
