"""A connector moved from one worker to another: the five steps of KIP-980, each checked.

Stop it at the origin, read its offsets, create it stopped at the target, alter the offsets there, resume it there and
delete it at the origin. What was done is written down before each step, so a migration whose process died is gone on
with by the same command. A step that fails before the connector was deleted at the origin is undone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.storage.faults import reach

from .config_writing import validated
from .journal import Journal, Step
from .offset_views import compact
from .problems import ClientError, Outdated, Refused, Wrong
from .states import state, status_of
from .waiting import GOALS, GONE, STOPPED, wait_for

if TYPE_CHECKING:
    from .api import ConnectApi

Config = Mapping[str, Any]


@dataclass
class Migration:
    """One connector on its way. ``tell`` hears of each step."""

    name: str
    origin: ConnectApi
    target: ConnectApi
    journal: Journal
    timeout: float
    tell: Callable[[str], None]

    def check(self, anyway: bool) -> None:
        """Raises when the migration cannot be begun. Nothing is changed."""
        info = self.origin.get("connectors", self.name)
        if _config(self.target, self.name) is not None:
            raise Wrong(
                f"{self.target.url} has a connector {self.name} already.",
                "Are both URLs workers of one cluster? If not, delete it there, or leave this one out.",
            )
        validated(self.target, self.name, info["config"])
        ids = [api.server.get("kafka_cluster_id") for api in (self.origin, self.target)]
        if info.get("type") == "sink" and ids[0] != ids[1] and not anyway:
            raise Wrong(
                f"{self.name} is a sink, and {self.target.url} reads other topics: its offsets mean nothing there.",
                "If the topics are there with the same records and offsets, add --anyway.",
            )

    def run(self) -> None:
        """All steps that are left. Raises the error of a step after undoing what was done."""
        try:
            if self.journal.step < Step.DELETING:
                self._bring_over()
        except ClientError as error:
            self._undo_after(error)
            raise
        self._leave()

    @property
    def can_undo(self) -> bool:
        """Whether it can still be taken back: only before the connector was deleted at the origin."""
        return self.journal.step < Step.DELETING

    def standing(self) -> str:
        """Where the connector is when the migration ends here, for people."""
        origin, target = self.origin.url, self.target.url
        places = {
            Step.NEW: f"nothing was changed, it is at {origin} as before",
            Step.STOPPING: f"it is stopped, or being stopped, at {origin} and not at {target} yet",
            Step.CREATING: f"it is stopped at {origin}, and perhaps created, stopped too, at {target}",
            Step.RESUMING: f"it is stopped at {origin}, and perhaps {self.journal.was} already at {target}",
            Step.DELETING: f"it is {self.journal.was} at {target}, and perhaps still there, stopped, at {origin}",
        }
        return f"The migration of {self.name} was interrupted: {places[self.journal.step]}."

    def undo(self) -> None:
        """Take everything back to how it was. Raises when it is too late for that."""
        if not self.can_undo:
            raise Wrong(
                f"{self.name} runs at {self.target.url} already and may be gone at {self.origin.url}.",
                "Migrate it the other way round to bring it back.",
            )
        here, there = _config(self.origin, self.name), _config(self.target, self.name)
        if self.journal.step >= Step.CREATING and there is not None and there == here:
            self._remove_at_target()
        if here is None:
            raise Refused(404, f"{self.name} is no longer at {self.origin.url}, so it cannot run there again.")
        self._put_offsets_back()
        _to_state(self.origin, self.name, self.journal.was)
        self.journal.forget()

    def _bring_over(self) -> None:
        """A target that may have run already is not given old offsets again."""
        if self.journal.step < Step.RESUMING:
            self._stop()
            self._create(self.origin.get("connectors", self.name, "config"))
            self._alter()
        self._resume()

    def _stop(self) -> None:
        if self.journal.step is Step.NEW:
            self.journal.was = _wanted(state(status_of(self.origin, self.name)))
        self.journal.reach(Step.STOPPING)
        self.tell(f"stopping it at {self.origin.url}")
        self.origin.put("connectors", self.name, "stop")
        wait_for(self.origin, self.name, STOPPED, self.timeout)
        reach("migrate-stopped")
        if self.journal.offsets is None:
            self.journal.offsets = self.origin.get("connectors", self.name, "offsets")["offsets"]
            self.tell(f"read {len(self.journal.offsets)} offsets")

    def _create(self, config: Config) -> None:
        self.journal.reach(Step.CREATING)
        there = _config(self.target, self.name)
        if there is None:
            self.tell(f"creating it stopped at {self.target.url}")
            body = {"name": self.name, "config": dict(config), "initial_state": "STOPPED"}
            self.target.post("connectors", body=body)
        elif there != dict(config):
            raise Outdated(f"Somebody else has made another connector {self.name} at {self.target.url} meanwhile.")
        wait_for(self.target, self.name, STOPPED, self.timeout)
        reach("migrate-created")

    def _alter(self) -> None:
        offsets = self.journal.offsets or []
        if offsets:
            self.tell(f"setting its offsets at {self.target.url}")
            self.target.patch("connectors", self.name, "offsets", body={"offsets": offsets})
            found = self.target.get("connectors", self.name, "offsets")["offsets"]
            if _by_place(found) != _by_place(offsets):
                raise Refused(200, f"{self.target.url} shows other offsets of {self.name} than it was given.")
        reach("migrate-altered")

    def _resume(self) -> None:
        self.journal.reach(Step.RESUMING)
        if self.journal.was != "STOPPED":
            self.tell(f"waiting until it is {self.journal.was} at {self.target.url}")
        _to_state(self.target, self.name, self.journal.was)
        wait_for(self.target, self.name, GOALS[self.journal.was], self.timeout)
        reach("migrate-resumed")

    def _leave(self) -> None:
        """From here on the connector is the target's: what fails is tried again, never undone."""
        self.journal.reach(Step.DELETING)
        self.tell(f"deleting it at {self.origin.url}")
        if _config(self.origin, self.name) is not None:
            self.origin.delete("connectors", self.name)
        wait_for(self.origin, self.name, GONE, self.timeout)
        reach("migrate-deleted")
        self.journal.forget()

    def _undo_after(self, error: ClientError) -> None:
        self.tell(f"undoing it: {error}")
        try:
            self.undo()
        except ClientError as trouble:
            error.hint = f"It could not be undone either: {trouble}. With --undo it is tried again."
        else:
            error.hint = f"{self.name} is {self.journal.was} at {self.origin.url} as before."

    def _remove_at_target(self) -> None:
        """Its offsets go too, unless they are those of the origin: a sink's group in the same Kafka."""
        self.tell(f"removing it at {self.target.url}")
        self.target.put("connectors", self.name, "stop")
        wait_for(self.target, self.name, STOPPED, self.timeout)
        ids = [api.server.get("kafka_cluster_id") for api in (self.origin, self.target)]
        if self.target.get("connectors", self.name).get("type") == "source" or ids[0] != ids[1]:
            self.target.delete("connectors", self.name, "offsets")
        self.target.delete("connectors", self.name)
        wait_for(self.target, self.name, GONE, self.timeout)

    def _put_offsets_back(self) -> None:
        saved = self.journal.offsets
        if not saved or state(status_of(self.origin, self.name)) != "STOPPED":
            return
        now = self.origin.get("connectors", self.name, "offsets")["offsets"]
        if _by_place(now) != _by_place(saved):
            self.origin.patch("connectors", self.name, "offsets", body={"offsets": saved})


def _config(api: ConnectApi, name: str) -> dict[str, Any] | None:
    try:
        return dict(api.get("connectors", name, "config"))
    except Refused as error:
        if error.status == 404:
            return None
        raise


def _wanted(found: str) -> str:
    """The state to go to at the target: a failed connector is meant to run."""
    return found if found in ("PAUSED", "STOPPED") else "RUNNING"


def _to_state(api: ConnectApi, name: str, wanted: str) -> None:
    if wanted != "STOPPED":
        api.put("connectors", name, "pause" if wanted == "PAUSED" else "resume")


def _by_place(offsets: Any) -> dict[str, Any]:
    return {compact(dict(sorted(entry["partition"].items()))): entry["offset"] for entry in offsets if entry["offset"]}
