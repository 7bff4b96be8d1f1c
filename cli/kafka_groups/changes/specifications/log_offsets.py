"""New offsets from the log of a partition: its ends, the first record since a time, and any offset."""

from __future__ import annotations

from dataclasses import dataclass

from kafka_groups.admin.api import OffsetSpec
from kafka_groups.changes.specifications.specification import Position, Refusal, Specification, Target


@dataclass(frozen=True)
class ToOffset(Specification):
    """One offset for every partition, clamped to its log."""

    offset: int

    def find(self, position: Position) -> Target | Refusal:
        """Return the offset inside the log."""
        return position.clamp(self.offset)


@dataclass(frozen=True)
class ToEarliest(Specification):
    """The log start offset."""

    def find(self, position: Position) -> Target | Refusal:
        """Return the log start offset."""
        return Target(position.log_start_offset)


@dataclass(frozen=True)
class ToLatest(Specification):
    """The log end offset."""

    def find(self, position: Position) -> Target | Refusal:
        """Return the log end offset."""
        return Target(position.log_end_offset)


@dataclass(frozen=True)
class ToTime(Specification):
    """The first record at or after a time, in milliseconds since 1970; the log end offset if there is none."""

    time_ms: int

    def lookups(self) -> tuple[OffsetSpec, ...]:
        """Return the first record since the time."""
        return (OffsetSpec.for_timestamp(self.time_ms),)

    def find(self, position: Position) -> Target | Refusal:
        """Return the offset of the record that was looked up."""
        found = position.found.get(OffsetSpec.for_timestamp(self.time_ms))
        if found is None:
            return Target(position.log_end_offset, "no record since then: log end offset")
        return Target(found)
