"""The frames of a build: the rows that kernels take and return.

Kernels work on a batch of partitions, whose rows refer to numbers from 0. Offsets and times are 64-bit integers; NULL
stands for null.

- A *partition* is the number of a topic partition in the batch, and a *key* the number of a group on a partition.
- The *log number* of a partition increases by one whenever its topic is recreated or its log truncated.
- The *incarnation* of a key increases by one whenever its commit is deleted or its topic recreated.
"""

from __future__ import annotations

from kafka_groups.pipeline.frames.arrays import Flags, Floats, Ints
from kafka_groups.pipeline.frames.columns import (
    BOOLEAN,
    DAYS,
    FLOAT64,
    INDEX,
    INT64,
    MICROSECONDS,
    MILLISECONDS,
    OFFSET,
    PER_SECOND,
    RECORDS,
    column,
)
from kafka_groups.pipeline.frames.frame import Frame, frame


@frame
class ObservedOffsets(Frame):
    """One row per row of `partition_offsets`: the offsets of a partition at a time, from a sample or a backfill."""

    at_us: Ints = column(INT64, "time of the offsets", unit=MICROSECONDS)
    is_sample: Flags = column(BOOLEAN, "true for a sample, false for a backfill")
    log_start: Ints = column(INT64, "log start offset; NULL in backfills", unit=OFFSET)
    log_end: Ints = column(INT64, "log end offset; NULL if it is unknown", unit=OFFSET)
    last_stable: Ints = column(INT64, "last stable offset; NULL in backfills", unit=OFFSET)
    lookup_offset: Ints = column(INT64, "backfill: first record at or after the time; NULL if none", unit=OFFSET)
    lookup_timestamp_ms: Ints = column(INT64, "timestamp of that record; NULL if there is none", unit=MILLISECONDS)
    topic_id: Ints = column(INT64, "a number that stands for the topic id; NULL if unknown")


@frame
class LogEnds(ObservedOffsets):
    """One row per partition and time: its offsets, its log, and whether other rows contradict it.

    Rows are sorted by partition and time.
    """

    partition: Ints = column(INT64, "number of the partition")
    log_number: Ints = column(INT64, "number of logs that the partition had before")
    previous_sample_us: Ints = column(INT64, "time of the partition's previous sample", unit=MICROSECONDS)
    is_used: Flags = column(BOOLEAN, "false for a row that contradicts other rows")
    is_carried: Flags = column(BOOLEAN, "true for a row of an earlier day")


@frame
class PartitionSummary(Frame):
    """Row i is the summary of the earlier days of partition i."""

    last_fact_day: Ints = column(INT64, "last day with a fact; NULL if there is none", unit=DAYS)


@frame
class TimePoints(Frame):
    """One row per point of the time index of a log: when the record at an offset was written.

    A point is an observed log end or a backfilled record. Records before an observed log end were written earlier than
    its time, and the record at it later; a backfilled record has its own timestamp. Rows are sorted by partition, log
    number and offset, which are unique together.
    """

    partition: Ints = column(INT64, "number of the partition")
    log_number: Ints = column(INT64, "number of the log")
    offset: Ints = column(INT64, "offset of the point", unit=OFFSET)
    record_ms: Ints = column(INT64, "timestamp of the record at the offset; LARGEST if unknown", unit=MILLISECONDS)
    latest_ms: Ints = column(
        INT64,
        "last time the log ended at this offset; for a backfilled record, its timestamp",
        unit=MILLISECONDS,
    )
    earliest_ms: Ints = column(
        INT64,
        "first time the log ended at this offset; for a backfilled record, its timestamp",
        unit=MILLISECONDS,
    )
    first_sample_ms: Ints = column(INT64, "first sample with this log end; LARGEST if none", unit=MILLISECONDS)
    log_start: Ints = column(INT64, "highest log start offset of these samples; NULL if unknown", unit=OFFSET)


@frame
class CommittedOffsets(Frame):
    """One row per row of `offset_commits`: a commit of a group on a partition, or its deletion."""

    at_us: Ints = column(INT64, "time of the commit or of its deletion", unit=MICROSECONDS)
    source_offset: Ints = column(INT64, "offset of the record in __consumer_offsets; NULL in samples", unit=OFFSET)
    is_record: Flags = column(BOOLEAN, "true for a record of __consumer_offsets, false for a sample")
    is_deletion: Flags = column(BOOLEAN, "true if the commit was deleted")
    committed_offset: Ints = column(INT64, "the committed offset; NULL for a deletion", unit=OFFSET)
    topic_id: Ints = column(INT64, "a number that stands for the topic id; NULL if unknown")
    member_count: Ints = column(INT64, "number of members of the group in this sample; NULL if unknown, and in records")


@frame
class Commits(CommittedOffsets):
    """One row per commit or deletion of a commit. Rows are sorted by key, time and source offset, and no two are equal.

    Clocks of two coordinators may differ. So `at_us` is not a record's own time if an earlier record in the log has a
    later one: it is then the time of that earlier record. A sample precedes a record of the same time, because its
    source offset is NULL.
    """

    key: Ints = column(INT64, "number of the key")
    commit_timestamp_us: Ints = column(INT64, "time of the commit by the coordinator's clock", unit=MICROSECONDS)
    is_carried: Flags = column(BOOLEAN, "true for a row of an earlier day")
    incarnation: Ints = column(INT64, "incarnation of the commit; a deletion has the incarnation of later rows")
    repeated_commits: Ints = column(INT64, "commits at the same offset before a carried record; 0 in other rows")
    unseen_highest_offset: Ints = column(
        INT64, "carried records after the last observation: their highest offset; NULL in other rows", unit=OFFSET
    )


@frame
class KeySummary(Frame):
    """Row i is the summary of the earlier days of key i; NULL where there is no value."""

    last_fact_day: Ints = column(INT64, "last day with a fact", unit=DAYS)
    last_activity_us: Ints = column(INT64, "last commit, or last sample that shows another offset", unit=MICROSECONDS)
    last_commit_us: Ints = column(INT64, "time of the last commit", unit=MICROSECONDS)
    has_records: Flags = column(BOOLEAN, "true if a record of __consumer_offsets was read")
    last_seen_us: Ints = column(INT64, "last sample that saw the commit; NULL after its deletion", unit=MICROSECONDS)
    samples_since_seen: Ints = column(
        INT64,
        "number of complete samples after last_seen_us, at most two; the first may be the one that saw the commit",
    )
    missing_since_us: Ints = column(INT64, "time of the first complete sample without the commit", unit=MICROSECONDS)


@frame
class KeyActivity(Frame):
    """Row i is the activity of key i on a day, from its commits."""

    consumed: Ints = column(INT64, "number of offsets by which the commits advanced", unit=RECORDS)
    commits: Ints = column(INT64, "number of commit records")
    has_activity: Flags = column(BOOLEAN, "true if there was a commit, or a sample that shows another offset")
    last_seen_us: Ints = column(INT64, "the day's last sample that saw the commit; NULL if none did", unit=MICROSECONDS)
    has_commit: Flags = column(BOOLEAN, "true if there is a commit at the end of the day")
    deleted_us: Ints = column(INT64, "the day's last deletion of the commit; NULL if none", unit=MICROSECONDS)
    clock_jump_ms: Ints = column(
        INT64,
        "largest amount by which a record's time precedes that of an earlier record in the log",
        unit=MILLISECONDS,
    )


@frame
class RateRows(Frame):
    """One row per key and time with a known log end offset, sorted by key and time."""

    key: Ints = column(INT64, "number of the key")
    at_us: Ints = column(INT64, "time of the observation", unit=MICROSECONDS)
    committed_offset: Ints = column(INT64, "the last commit at that time", unit=OFFSET)
    log_end: Ints = column(INT64, "log end offset", unit=OFFSET)
    incarnation: Ints = column(INT64, "incarnation of the commit")
    log_number: Ints = column(INT64, "number of the log")


@frame
class LagRows(RateRows):
    """One row per key and time: the lag, as in a row of `lag_history`."""

    observation: Ints = column(INT64, "the row of LogEnds with the log end offset", unit=INDEX)
    commit_timestamp_us: Ints = column(INT64, "time of the commit by the coordinator's clock", unit=MICROSECONDS)
    deleted_us: Ints = column(INT64, "last deletion before the commit; NULL if there is none", unit=MICROSECONDS)
    is_commit_record: Flags = column(BOOLEAN, "true if the commit is a record, false if a sample saw it")
    lag: Ints = column(INT64, "log end offset minus committed offset", unit=RECORDS)
    retention_margin: Ints = column(INT64, "committed offset minus log start offset; NULL if unknown", unit=RECORDS)


@frame
class LagExtremes(Frame):
    """Row i has the worst values of the lag rows of key i on a day; NULL where they have none."""

    max_time_lag_ms: Ints = column(INT64, "longest time lag", unit=MILLISECONDS)
    min_retention_margin: Ints = column(INT64, "smallest retention margin", unit=RECORDS)
    last_retention_margin_at_ms: Ints = column(INT64, "time of the last row with a retention margin", unit=MILLISECONDS)
    last_retention_margin: Ints = column(INT64, "retention margin at that time", unit=RECORDS)
    retention_left_ms: Ints = column(
        INT64,
        "time until the log start passes the commit, at the day's rates; 0 if it has passed, NULL if it never will",
        unit=MILLISECONDS,
    )


@frame
class ObservedKeys(Frame):
    """One row per observation of a key: its commit, its log and its group at that time."""

    key: Ints = column(INT64, "number of the key")
    incarnation: Ints = column(INT64, "incarnation of the commit")
    log_number: Ints = column(INT64, "number of the log")
    at_ms: Ints = column(INT64, "time of the observation", unit=MILLISECONDS)
    committed_offset: Ints = column(INT64, "the last commit at that time", unit=OFFSET)
    log_start: Ints = column(INT64, "log start offset; NULL if unknown", unit=OFFSET)
    log_end: Ints = column(INT64, "log end offset", unit=OFFSET)
    member_count: Ints = column(INT64, "number of members of the group; NULL if unknown")


@frame
class Observations(ObservedKeys):
    """One row per observation of a key, as evidence for verdicts, sorted by key and time."""

    lag: Ints = column(INT64, "records that can still be read; NULL if the commit is above the log end", unit=RECORDS)
    lost_records: Ints = column(INT64, "records deleted before the group read them; NULL if unknown", unit=RECORDS)
    commit_ms: Ints = column(INT64, "time of the last commit; NULL if no record shows it", unit=MILLISECONDS)
    repeated_commits: Ints = column(INT64, "commits at the same offset since its first one; NULL if unknown")
    highest_offset: Ints = column(INT64, "highest offset committed since the previous observation", unit=OFFSET)


@frame
class KeyProgress(ObservedKeys):
    """One row per key: its last observation, and its progress until then, which the verdicts of later days need."""

    waiting_since_ms: Ints = column(
        INT64, "last change of the committed offset, or last observation without lag if later", unit=MILLISECONDS
    )
    offset_changes: Ints = column(INT64, "number of times the committed offset changed")
    strongest_wait_strength: Ints = column(
        INT64, "highest age-weighted log2 duration of a wait, in STRENGTH_UNIT; 0 if none"
    )
    second_wait_strength: Ints = column(INT64, "second highest strength of a wait; 0 if none")
    strongest_interval_strength: Ints = column(INT64, "highest strength of an interval between observations; 0 if none")
    second_interval_strength: Ints = column(INT64, "second highest strength of an interval; 0 if none")
    last_interval_ms: Ints = column(INT64, "time between the last two observations; 0 after one", unit=MILLISECONDS)
    highest_offset: Ints = column(INT64, "highest committed offset since the last known reset", unit=OFFSET)
    unread_at_last_change: Ints = column(
        INT64, "records left at the last change (`Evidence`); NULL if none", unit=RECORDS
    )
    empty_since_ms: Ints = column(
        INT64, "beginning of the time without members; NULL if one was seen last", unit=MILLISECONDS
    )
    offset_before_reset: Ints = column(
        INT64, "highest offset before a known reset that this observation is the first to show; else NULL", unit=OFFSET
    )
    rule: Ints = column(INT64, "the rule of the last verdict, by its index in RULE_NAMES", unit=INDEX)
    verdict_since_ms: Ints = column(INT64, "when this verdict began", unit=MILLISECONDS)


@frame
class LagMinima(Frame):
    """One row per observation with the lowest lag of five minutes or of an hour.

    Rows are sorted by key, incarnation, log number and time.
    """

    key: Ints = column(INT64, "number of the key")
    incarnation: Ints = column(INT64, "incarnation of the commit")
    log_number: Ints = column(INT64, "number of the log")
    at_ms: Ints = column(INT64, "time of the observation", unit=MILLISECONDS)
    lag: Ints = column(INT64, "records that can still be read", unit=RECORDS)
    log_end: Ints = column(INT64, "log end offset", unit=OFFSET)


@frame
class LogStarts(Frame):
    """One row per observation of a key with a higher log start offset than all before it, and its first observation.

    Rows are sorted by key, incarnation, log number and time.
    """

    key: Ints = column(INT64, "number of the key")
    incarnation: Ints = column(INT64, "incarnation of the commit")
    log_number: Ints = column(INT64, "number of the log")
    at_ms: Ints = column(INT64, "time of the observation", unit=MILLISECONDS)
    log_start: Ints = column(INT64, "log start offset", unit=OFFSET)
    log_end: Ints = column(INT64, "log end offset", unit=OFFSET)


@frame
class PartitionStatuses(Frame):
    """One row per key and time: the verdict, with the numbers that a group's status adds up.

    A row whose rule is NULL is the deletion of the commit at that time.
    """

    key: Ints = column(INT64, "number of the key")
    at_us: Ints = column(INT64, "time of the observation, or of the deletion", unit=MICROSECONDS)
    rule: Ints = column(INT64, "index in RULE_NAMES of the verdict's rule; NULL for a deletion", unit=INDEX)
    verdict_since_ms: Ints = column(INT64, "when this verdict began", unit=MILLISECONDS)
    lag: Ints = column(INT64, "lag", unit=RECORDS)
    time_lag_ms: Ints = column(INT64, "time lag; NULL if unknown", unit=MILLISECONDS)
    time_lag_quality: Ints = column(INT64, "quality of the time lag, by its index in QUALITIES", unit=INDEX)
    consume_rate: Floats = column(FLOAT64, "rate of consumption; NaN if unknown", unit=PER_SECOND)
    produce_rate: Floats = column(FLOAT64, "rate of production; NaN if unknown", unit=PER_SECOND)
    catch_up_ms: Ints = column(
        INT64, "time until the lag is 0; NULL if none, or if it does not fall", unit=MILLISECONDS
    )
