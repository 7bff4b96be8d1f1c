"""The specifications of `reset`: from what is known of a partition to its new offset. No requests, no clock.

They are those of kafka-consumer-groups.sh (GroupOffsetsResetter.java), and the commits of another group.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from kafka_groups.model import CommittedOffset


class Position(NamedTuple):
    """What is known of a partition: the group's commit, the ends of the log, and the offset that was looked up.

    `found` is the first record at or after a time, the other group's commit, or the offset of a file.
    """

    committed: CommittedOffset | None
    log_start_offset: int
    log_end_offset: int
    found: int | None = None

    def clamp(self, offset: int) -> Target:
        """Return the offset, or the nearest one inside the log."""
        if offset < self.log_start_offset:
            return Target(self.log_start_offset, f"clamped from {offset} to the log start offset")
        if offset > self.log_end_offset:
            return Target(self.log_end_offset, f"clamped from {offset} to the log end offset")
        return Target(offset)


class Target(NamedTuple):
    """The new offset of a partition, and a note on how it differs from what the user may expect."""

    offset: int
    note: str = ""


class Refusal(NamedTuple):
    """The reason why a partition has no new offset."""

    message: str


class Specification(Protocol):
    """A rule for the new offset of a partition."""

    def find(self, position: Position) -> Target | Refusal:
        """Return the new offset, or the reason why there is none."""


@dataclass(frozen=True)
class ToOffset:
    """One offset for every partition, clamped to its log."""

    offset: int

    def find(self, position: Position) -> Target | Refusal:
        """Return the offset inside the log."""
        return position.clamp(self.offset)


@dataclass(frozen=True)
class ToEarliest:
    """The log start offset."""

    def find(self, position: Position) -> Target | Refusal:
        """Return the log start offset."""
        return Target(position.log_start_offset)


@dataclass(frozen=True)
class ToLatest:
    """The log end offset."""

    def find(self, position: Position) -> Target | Refusal:
        """Return the log end offset."""
        return Target(position.log_end_offset)


@dataclass(frozen=True)
class ToCurrent:
    """The committed offset; the log end offset where nothing is committed."""

    def find(self, position: Position) -> Target | Refusal:
        """Return the committed offset, as it is, or the log end offset."""
        if position.committed is None:
            return Target(position.log_end_offset, "log end offset")
        return Target(position.committed.offset)


@dataclass(frozen=True)
class ShiftBy:
    """The committed offset plus a number of records, negative to go back, clamped to the log."""

    records: int

    def find(self, position: Position) -> Target | Refusal:
        """Return the shifted offset; there is none without a commit."""
        if position.committed is None:
            return Refusal("nothing is committed that could be shifted")
        return position.clamp(position.committed.offset + self.records)


@dataclass(frozen=True)
class ToTime:
    """The first record at or after a time, in milliseconds since 1970; the log end offset if there is none."""

    time_ms: int

    def find(self, position: Position) -> Target | Refusal:
        """Return the offset of the record that was looked up."""
        if position.found is None:
            return Target(position.log_end_offset, "no record since then: log end offset")
        return Target(position.found)


@dataclass(frozen=True)
class ToGroup:
    """The committed offset of another group, clamped to the log."""

    group: str

    def find(self, position: Position) -> Target | Refusal:
        """Return the other group's offset; there is none without a commit of that group."""
        if position.found is None:
            return Refusal(f"group '{self.group}' has no commit on it")
        return position.clamp(position.found)


@dataclass(frozen=True)
class FromRows:
    """The offset of a file, clamped to the log."""

    def find(self, position: Position) -> Target | Refusal:
        """Return the offset of the file."""
        assert position.found is not None
        return position.clamp(position.found)


def find_target(specification: Specification, position: Position) -> Target | Refusal:
    """Return the new offset of a partition with a note, or the reason why there is none."""
    target = specification.find(position)
    if isinstance(target, Refusal):
        return target
    notes = [target.note] if target.note else []
    if position.committed is None:
        notes.append("no commit before")
    elif position.committed.offset == target.offset:
        notes.append("unchanged")
    if position.log_start_offset == position.log_end_offset:
        notes.append("empty partition")
    return Target(target.offset, ", ".join(notes)) if notes else target
