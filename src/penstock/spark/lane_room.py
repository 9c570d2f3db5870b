"""How many lanes there may be: what Spark has room for, what it may grow to, and what is left to DataFrames."""

from __future__ import annotations

from dataclasses import dataclass

MOST_LANES = 1000
"""However many executors Spark may get: each lane has a thread that waits for its job."""


@dataclass(frozen=True, slots=True)
class LaneRoom:
    """Of a Spark with ``slots``, which may grow to ``most_slots``, and whose ``cores`` compute.

    While works are ``backlogged``, more lanes are wanted than there are slots: a Spark that may get more executors
    sees the tasks that it cannot begin, and asks for them. While tasks that need Spark jobs for DataFrames run
    (``framed``), these find a quarter of the slots free. Nothing is wanted beyond the slots then: the first tasks
    would take the free ones, where Spark would not see a need for others.
    """

    slots: int = 1
    most_slots: int = 1
    cores: int = 1
    framed: bool = False
    backlogged: bool = False

    @property
    def reserved(self) -> int:
        """Slots that no lane takes."""
        return max(1, self.slots // 4) if self.framed and self.slots > 1 else 0

    @property
    def begun(self) -> int:
        """Lanes that Spark has room for now."""
        return max(1, self.slots - self.reserved)

    @property
    def most(self) -> int:
        """Lanes, begun or only asked for."""
        wanted = self.most_slots if self.backlogged and not self.framed else self.begun
        return max(1, min(wanted, MOST_LANES))

    @property
    def has_slots_to_spare(self) -> bool:
        """Whether a lane can be kept for quick works without a core that idles meanwhile."""
        return self.slots > self.cores

    @property
    def computing(self) -> int:
        """Works that may compute at a time, on the cores that are there or asked for."""
        return self.cores if self.has_slots_to_spare else self.most
