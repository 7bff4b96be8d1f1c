"""What the facts of a seed show of the causes of expected differences.

Log ends and commits are looked at partition by partition, group events group by group. Midnight has no meaning here:
a difference that only comes from the facts of two dates being built one after the other has no cause.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from itertools import pairwise
from operator import attrgetter, itemgetter
from typing import Final, NamedTuple

from tests.pipeline.build.histories import Facts
from tests.pipeline.proof.random_facts import Row, facts_of

# The longest time between a record and a sample of the same commit.
_NEAR: Final = timedelta(minutes=10)
_CLASSIC: Final = "GroupMetadata"
_SHARE_AND_STREAMS: Final = ("ShareGroup", "StreamsGroup")


class LogEnd(NamedTuple):
    """A log end that is known, and its time."""

    at: datetime
    offset: int


class Commit(NamedTuple):
    """A commit or a removal (`offset` is None), with the topic id that the log ends around it show, if any."""

    at: datetime
    is_record: bool
    offset: int | None
    topic_id: str | None


@dataclass(frozen=True, slots=True)
class PartitionFacts:
    """The sampled log ends of a partition in the order of time, and what they show."""

    topic_ids: Sequence[tuple[datetime, str]]  # of each sample with a topic id
    log_ends: Sequence[LogEnd]
    # Log ends that backfills found, in the order of time.
    backfilled: Sequence[LogEnd]

    def topic_id_at(self, at: datetime) -> str | None:
        """Return the topic id of the last sample until a time; None if there is none."""
        place = bisect_right(self.topic_ids, at, key=itemgetter(0))
        return self.topic_ids[place - 1][1] if place else None

    def topic_id_from(self, at: datetime) -> str | None:
        """Return the topic id of the first sample from a time on; None if there is none."""
        place = bisect_left(self.topic_ids, at, key=itemgetter(0))
        return self.topic_ids[place][1] if place < len(self.topic_ids) else None

    def topic_id_of(self, at: datetime, *, is_record: bool) -> str | None:
        """Return the topic id of a commit or a sample of one; None if the topic was recreated around it."""
        before, following = self.topic_id_at(at), self.topic_id_from(at)
        if not is_record:
            return following or before
        return before if following in (None, before) else None


@dataclass(frozen=True, slots=True)
class KeyFacts:
    """The commits of a group on a partition in their order, each once, and the partition."""

    partition: PartitionFacts
    commits: Sequence[Commit]
    # Commits on another topic id than those before them.
    topic_changes: Sequence[datetime]

    def commits_until(self, at: datetime) -> Sequence[Commit]:
        """Return the commits until a time, without those before the last removal."""
        until = self.commits[: bisect_right(self.commits, at, key=attrgetter("at"))]
        removals = [place for place, commit in enumerate(until) if commit.offset is None]
        return until[removals[-1] + 1 :] if removals else until

    def is_on_other_topic(self, row: Row, topic_id: str | None) -> bool:
        """Return whether the commit of a row of lag_history is known to be on another topic id than its log end."""
        own_id = self.partition.topic_id_of(row["commit_time"], is_record=row["commit_origin"] == "topic")
        return None not in (own_id, topic_id) and own_id != topic_id

    def contradicted_samples(self) -> Iterator[datetime]:
        """Yield the times of samples within ten minutes of the first or the last record of a date, and not in step.

        Such a sample is before the first record that was read, or has another offset than the record before it.
        """
        for place, commit in enumerate(self.commits):
            if commit.is_record or commit.offset is None:
                continue
            before = next((one for one in reversed(self.commits[:place]) if one.is_record), None)
            after = next((one for one in self.commits[place + 1 :] if one.is_record), None)
            near = [one for one in (before, after) if one is not None and abs(one.at - commit.at) <= _NEAR]
            if near and (before is None or before.offset != commit.offset):
                yield commit.at

    def has_pause_before(self, at: datetime) -> bool:
        """Return whether log ends of earlier dates than `at` paused for longer than 2 % of the time until its date.

        The last sample counts of several that show the same log end.
        """
        midnight = at.replace(hour=0, minute=0, second=0, microsecond=0)
        known = (*self.partition.log_ends, *self.partition.backfilled)
        last_seen = {end.offset: end.at for end in known if end.at < midnight}
        return any(later - earlier > (midnight - later) / 50 for earlier, later in pairwise(sorted(last_seen.values())))


@dataclass(slots=True)
class GroupFacts:
    """What the records of a group show, in the order of the log."""

    # Leaves of members without an earlier record.
    unseen_leaves: list[datetime] = field(default_factory=list)
    # Assignments of members without an earlier record, which no online upgrade can have kept.
    unseen_joins: list[datetime] = field(default_factory=list)
    # Times and numbers of classic generations whose generation before is not among the records.
    lost_at: list[tuple[datetime, int]] = field(default_factory=list)
    # Times of the removals of groups of another type between two classic generations, by time and number of the later.
    removals_before: dict[tuple[datetime, int], datetime] = field(default_factory=dict)
    # Times of the records of share and streams groups.
    share_and_streams: list[datetime] = field(default_factory=list)

    def read_member(self, record: Row, *, is_seen: bool) -> None:
        """Keep the time of a leave or an assignment of a member that no earlier record shows."""
        if is_seen:
            return
        if record["event_type"] == "member_left":
            self.unseen_leaves.append(record["record_time"])
        if record["event_type"] == "member_assignment":
            self.unseen_joins.append(record["record_time"])


class SeedFacts:
    """The facts of one cluster by partition, by key and by group."""

    def __init__(self, facts: Facts) -> None:
        self.partitions = _read_partitions(facts["partition_offsets"])
        self.keys = _read_keys(facts["offset_commits"], self.partitions)
        self.groups = _read_groups(facts["group_events"])

    def keys_of(self, group: str) -> Iterator[KeyFacts]:
        """Yield the keys of a group."""
        return (key for (name, _, _), key in self.keys.items() if name == group)


@cache
def seed_facts(seed: int) -> SeedFacts:
    """Return the facts of a seed."""
    return SeedFacts(facts_of(seed, 1))


def _read_partitions(rows: Sequence[Row]) -> dict[tuple[str, int], PartitionFacts]:
    samples: dict[tuple[str, int], dict[datetime, Row]] = defaultdict(dict)
    backfilled: dict[tuple[str, int], list[Row]] = defaultdict(list)
    for row in sorted(rows, key=itemgetter("observed_at")):
        place = row["topic"], row["partition"]
        if row["origin"] == "sample":
            samples[place][row["observed_at"]] = row
        else:
            backfilled[place].append(row)
    places = sorted({*samples, *backfilled})
    return {place: _read_partition([*samples[place].values()], backfilled[place]) for place in places}


def _read_partition(samples: Sequence[Row], backfilled: Sequence[Row]) -> PartitionFacts:
    topic_ids = [(row["observed_at"], row["topic_id"]) for row in samples if row["topic_id"] is not None]
    return PartitionFacts(
        topic_ids=topic_ids,
        log_ends=_read_log_ends(samples),
        backfilled=_read_log_ends(backfilled),
    )


def _read_log_ends(rows: Sequence[Row]) -> list[LogEnd]:
    return [LogEnd(row["observed_at"], row["log_end_offset"]) for row in rows if row["log_end_offset"] is not None]


def _read_keys(
    rows: Sequence[Row], partitions: dict[tuple[str, int], PartitionFacts]
) -> dict[tuple[str, str, int], KeyFacts]:
    by_key: dict[tuple[str, str, int], dict[tuple[object, ...], Row]] = defaultdict(dict)
    for row in rows:
        name = row["commit_time"], row["source_offset"], row["committed_offset"]
        by_key[row["group"], row["topic"], row["partition"]][name] = row
    nothing = PartitionFacts((), (), ())
    return {
        key: _read_key(list(named.values()), partitions.get((key[1], key[2]), nothing)) for key, named in by_key.items()
    }


def _read_key(rows: list[Row], partition: PartitionFacts) -> KeyFacts:
    # A sample comes before a record of its time.
    rows.sort(key=lambda row: (row["commit_time"], row["source_offset"] or -1))
    commits = []
    for row in rows:
        is_record = row["origin"] == "topic"
        topic_id = None if row["is_tombstone"] else partition.topic_id_of(row["commit_time"], is_record=is_record)
        commits.append(Commit(row["commit_time"], is_record, row["committed_offset"], topic_id))
    known = [commit for commit in commits if commit.topic_id is not None]
    changes = [other.at for one, other in pairwise(known) if one.topic_id != other.topic_id]
    return KeyFacts(partition, commits, changes)


def _read_groups(rows: Sequence[Row]) -> dict[str, GroupFacts]:
    by_group: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row["origin"] == "topic":
            by_group[row["group"]].append(row)
    return {
        group: _read_group(sorted(records, key=lambda row: row["source_offset"])) for group, records in by_group.items()
    }


def _read_group(records: Sequence[Row]) -> GroupFacts:
    facts = GroupFacts()
    seen: set[str] = set()
    classic_members: set[str] = set()
    generation: int | None = None
    removed_at: datetime | None = None
    has_generation = False
    for record in records:
        at: datetime = record["record_time"]
        member = record["member_id"]
        if record["record_name"].startswith(_SHARE_AND_STREAMS):
            facts.share_and_streams.append(at)
        if record["record_name"] == _CLASSIC:
            if record["is_tombstone"]:
                # An upgrade keeps these members, so that their joins are not unseen ones.
                seen |= classic_members
                generation, removed_at, has_generation = 0, None, False
                continue
            classic_members = {member["member_id"] for member in record.get("members") or ()}
            number = record["epoch"]
            if removed_at is not None and has_generation:
                facts.removals_before[at, number] = removed_at
            if generation is None or number not in (generation, generation + 1):
                facts.lost_at.append((at, number))
            generation, removed_at, has_generation = number, None, True
        elif record["event_type"] == "group_removed":
            seen, removed_at = set(), at
        elif member is not None:
            facts.read_member(record, is_seen=member in seen)
            if record["event_type"] != "member_assignment_removed":
                seen.add(member)
    return facts
