"""What can go wrong with a topic, said so that a user knows the way out."""

from __future__ import annotations

from collections.abc import Sequence

FENCED = "There is a newer producer with the same transactionalId which fences the current one."
"""Kafka's text for a transactional id that somebody else has taken over."""


class TopicError(Exception):
    """A topic could not be made, written or read. The text is for the user."""


class UnknownTopic(TopicError):
    """There is no such topic."""

    def __init__(self, topic: str) -> None:
        super().__init__(f"There is no topic '{topic}'.")


class TopicExists(TopicError):
    """A topic of this name is there already."""

    def __init__(self, topic: str) -> None:
        super().__init__(f"Topic '{topic}' already exists.")


class MissingTopics(TopicError):
    """A stager needs topics that the home has to make first. Nothing was written."""

    def __init__(self, topics: Sequence[str]) -> None:
        super().__init__(f"Topics have to be made first: {', '.join(topics)}")
        self.topics = list(topics)

    def __reduce__(self) -> tuple[type[MissingTopics], tuple[list[str]]]:
        return MissingTopics, (self.topics,)


class GroupInUse(TopicError):
    """Somebody consumes with this group at the moment."""

    def __init__(self, group: str) -> None:
        super().__init__(f"The consumer group {group} has members, so its offsets cannot be changed")
