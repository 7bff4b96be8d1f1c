"""New offsets from the rows of a file: Kafka's CSV, or a plan of this tool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from kafka_groups.changes.current_groups import CurrentGroup, refuse
from kafka_groups.changes.current_topics import CurrentTopics, note_unknown_ids
from kafka_groups.changes.plan_rows import PlanRows
from kafka_groups.changes.specifications.specification import Position, Refusal, Specification, Target
from kafka_groups.changes.start_offsets import refuse_other_offsets
from kafka_groups.changes.validity import describe_difference
from kafka_groups.groups.notes import Note
from kafka_groups.model import CommittedOffset, Failure, TopicPartition

_NO_OFFSET: Final = "the plan sets no start offset here; delete-offsets deletes those of a topic"


@dataclass(frozen=True)
class FromCsv(Specification):
    """The offset of a row of Kafka's CSV, clamped to the log. Other partitions stay as they are."""

    file: PlanRows
    needs_scope: ClassVar[bool] = False

    def scope(self, group: str, named: Sequence[TopicPartition] | None) -> Sequence[TopicPartition]:
        """Return the partitions of the group's rows."""
        rows = self.file.by_partition(group)
        return [key for key in named or () if key in rows]

    def find(self, position: Position) -> Target | Refusal:
        """Return the offset of the row; a plan of an undo may have none."""
        offset = self.file.by_partition(position.group)[position.key].new_offset
        return Refusal(_NO_OFFSET) if offset is None else position.clamp(offset)


@dataclass(frozen=True)
class FromPlan(FromCsv):
    """The commit of a row of a plan, clamped to the log.

    A row is refused if its topic is another one now, or if the commit has changed since the plan, unless `force`.
    """

    force: bool = False

    def refuse(self, current: CurrentGroup, key: TopicPartition, topics: CurrentTopics) -> Failure | None:
        """Return why the row of a partition does not apply any more; None if it does."""
        row = self.file.by_partition(current.group)[key]
        commit = current.offsets.get(key)
        if (other_offsets := refuse_other_offsets(current, row)) is not None:
            return other_offsets
        if (recreated := topics.refuse(row)) is not None:
            return recreated
        if self.force or row.before == commit:
            return None
        return refuse(current.group, describe_difference(row.before, commit, noun=row.noun), key)

    def find(self, position: Position) -> Target | Refusal:
        """Return the offset of the row, with its leader epoch and metadata unless it is clamped."""
        row = self.file.by_partition(position.group)[position.key]
        target = super().find(position)
        if isinstance(target, Refusal):
            return target
        is_planned = target.offset == row.new_offset
        return target._replace(commit=row.after if is_planned else CommittedOffset(target.offset, None, ""))

    def group_type(self, group: str) -> str | None:
        """Return the type that the rows have."""
        return next((row.group_type for row in self.file.by_partition(group).values()), None)

    def notes(
        self,
        scope: Sequence[TopicPartition] | None,
        partitions: Mapping[str, Sequence[TopicPartition]],
        topics: CurrentTopics,
    ) -> list[Note]:
        """Return a note on the topics of the plan whose recreation would not be noticed."""
        return note_unknown_ids(self.file.rows, topics)


def from_rows(file: PlanRows, *, force: bool = False) -> FromCsv:
    """Return the specification of a file."""
    return FromPlan(file, force) if file.cluster_id is not None else FromCsv(file)
