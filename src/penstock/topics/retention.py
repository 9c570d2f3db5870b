"""Which segments have been kept long enough."""

from __future__ import annotations

from collections.abc import Sequence

from .segments import Segment
from .settings import TopicSettings


def expired(segments: Sequence[Segment], rules: TopicSettings, now: int) -> Sequence[Segment]:
    """The segments at the head that are too old, or too many bytes away from the end."""
    if not rules.delete:
        return []
    size = sum(segment.size for segment in segments)
    for count, segment in enumerate(segments):
        too_old = rules.retention_ms >= 0 and segment.newest < now - rules.retention_ms
        too_far = rules.retention_bytes >= 0 and size - segment.size >= rules.retention_bytes
        if not too_old and not too_far:
            return segments[:count]
        size -= segment.size
    return segments
