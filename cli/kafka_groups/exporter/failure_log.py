"""Lines about failures of polls: one when a failure begins, and one when it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from kafka_groups.model import Failure
from kafka_groups.rendering.stderr import format_failure

# Lines about single failures at each poll; a sentence counts the others.
_MOST_LINES: Final = 5
# What fails, and the name of the error: messages may have other numbers at each poll.
_Key: TypeAlias = tuple[object, ...]


class FailureLog:
    """The failures of the last poll of a cluster."""

    def __init__(self, log: Callable[[str], None]) -> None:
        self._log = log
        self._known: dict[_Key, Failure] = {}

    def compare(self, cluster: str, failures: Iterable[Failure]) -> None:
        """Print what has failed since the last poll, and what fails no longer."""
        current = {_key_of(failure): failure for failure in failures}
        lead = f"{cluster}: " if cluster else ""
        began = [f"Error: {format_failure(failure)}" for key, failure in current.items() if key not in self._known]
        ended = [f"no longer: {format_failure(failure)}" for key, failure in self._known.items() if key not in current]
        self._known = current
        for lines in (began, ended):
            for line in lines[:_MOST_LINES]:
                self._log(f"{lead}{line}")
            if len(lines) > _MOST_LINES:
                self._log(f"{lead}… and {len(lines) - _MOST_LINES:,} more {'errors' if lines is began else 'ended'}")


def _key_of(failure: Failure) -> _Key:
    return (failure.name, failure.group, failure.topic, failure.partition, failure.broker)
