"""New offsets from the commits of the groups themselves."""

from __future__ import annotations

from dataclasses import dataclass

from kafka_groups.changes.specifications.specification import Position, Refusal, Specification, Target


@dataclass(frozen=True)
class ToCurrent(Specification):
    """The committed offset; the log end offset where nothing is committed."""

    def find(self, position: Position) -> Target | Refusal:
        """Return the committed offset, as it is, or the log end offset. A start offset is clamped."""
        if position.committed is None:
            return Target(position.log_end_offset, "log end offset")
        if position.has_start_offset:
            return position.clamp(position.committed.offset)
        return Target(position.committed.offset)


@dataclass(frozen=True)
class ShiftBy(Specification):
    """The committed offset plus a number of records, negative to go back, clamped to the log."""

    records: int

    def find(self, position: Position) -> Target | Refusal:
        """Return the shifted offset; there is none without a commit."""
        if position.committed is None:
            is_start = position.has_start_offset
            what = "there is no known start offset" if is_start else "nothing is committed"
            return Refusal(f"{what} that could be shifted")
        return position.clamp(position.committed.offset + self.records)
