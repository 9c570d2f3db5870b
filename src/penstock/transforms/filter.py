"""Filter: drops records."""

from __future__ import annotations

from penstock.api.batch import Batch
from penstock.api.record import Record
from penstock.api.transform import Transform


class Filter(Transform):
    """Drops every record it is given; a predicate decides which those are."""

    java_class = "org.apache.kafka.connect.transforms.Filter"

    def apply(self, record: Record) -> Record | None:
        return None

    def apply_batch(self, batch: Batch) -> Batch | None:
        return batch.slice(0, 0)
