"""The tables of the pipeline: every column with its type and what it promises. This module is their documentation.

All times are UTC; `*_ms` are milliseconds; rates are records a second. Every table is partitioned by `date` (UTC, of
the time that it is `dated by`). `shape.Table` and `shape.parse_tables` describe the notation. `SCHEMA_VERSION` goes up
when a column changes its meaning or goes away; columns may be added without.
"""

from __future__ import annotations

from typing import Final

from kafka_groups.pipeline.tables.shape import Column, Table, create_statement, parse_tables, spell_type

__all__ = ["Column", "Table", "create_statement", "spell_type"]

SCHEMA_VERSION: Final = 3
OFFSETS_TOPIC: Final = "__consumer_offsets"

_ALL: Final = parse_tables(
    """
    offset_commits: Every commit, and every deletion of a commit.
    facts; identity cluster_id, origin, source_partition, source_offset, group, topic, partition, commit_time; dated by
        commit_time
    cluster_id STRING: Kafka's id of the cluster
    origin STRING: topic: read from __consumer_offsets; sample: requested from the brokers
    source_partition INT: partition of __consumer_offsets; null for samples
    source_offset BIGINT: offset in it; with the partition it identifies a record permanently
    record_time TIMESTAMP: when the broker appended the record; for samples, the time of the request
    group STRING: id of the group
    topic STRING: name of the topic
    partition INT: partition of the topic
    committed_offset BIGINT: the next offset that the group would read; null for a tombstone
    leader_epoch INT: epoch of the leader that the consumer read from; null if the commit has none
    metadata STRING: metadata that the consumer committed with the offset
    commit_time TIMESTAMP: when it was committed (broker's clock); for samples and tombstones, record_time
    expire_time TIMESTAMP: when it expires, if a client requested a retention of its own
    topic_id STRING: id of the topic, where the broker wrote it (since 4.1)
    tombstone BOOLEAN: true: the offset expired, was deleted, or its partition was
    value_version SMALLINT: version of OffsetCommitValue; null for tombstones and samples

    group_events: Events of groups and members: generations, epochs, joins, leaves, deletions; and sampled states.
    facts; identity cluster_id, origin, source_partition, source_offset, group, record_time; dated by record_time
    cluster_id, origin, source_partition, source_offset, record_time, group
    record_type SMALLINT: type of the record's key; null for samples
    value_version SMALLINT: version of the value; null for tombstones and samples
    tombstone BOOLEAN: true if the record deletes an earlier one (a tombstone)
    type STRING: Kafka's name of the record (ConsumerGroupMetadata, …), or Snapshot for samples
    event_type STRING: the event, in one stable word; state_seen for samples
    epoch INT: generation, group epoch, target epoch or member epoch, as the type says
    previous_epoch INT: the member's epoch before
    member_id STRING: the member that the event is of; null if it is of the group
    member_state STRING: STABLE, UNREVOKED_PARTITIONS or UNRELEASED_PARTITIONS (KIP-848); of streams groups …_TASKS;
        else UNKNOWN
    group_instance_id STRING: the member's static id
    client_id STRING: the member's client id
    client_host STRING: the member's host
    protocol_type STRING: consumer, connect, … of a classic group
    protocol STRING: the assignor that a classic group chose; for samples, that of a KIP-848 group, too
    leader STRING: the member that leads a classic group
    state_time TIMESTAMP: when a classic group entered its state, a target assignment was made (since 4.3), a pattern
        was resolved
    topics ARRAY<STRING>: topics that the member subscribed to
    members MEMBERS: all members: of a classic generation, or as sampled
    assignment ASSIGNMENT: partitions of the member
    pending_revocation ASSIGNMENT: partitions that it must revoke
    details STRING: the whole content of the record, as JSON
    group_type STRING: Classic, Consumer, Share or Streams; sampled
    state STRING: Stable, Empty, …; sampled

    partition_offsets: Log end offsets of topic partitions, current ones (sample) or of a time in the past (backfill).
    facts; identity cluster_id, origin, topic, partition, observed_at; dated by observed_at
    cluster_id
    origin STRING: sample or backfill
    topic, partition
    topic_id STRING: id of the topic, if the broker returns it
    observed_at TIMESTAMP: the time of the offsets in this row
    log_start_offset BIGINT: the first offset that can be read; null in the past
    log_end_offset BIGINT: the offset of the next record; null: unknown (sample), or deleted since (backfill). A sample
        in which not every coordinator listed its groups has none of __consumer_offsets
    last_stable_offset BIGINT: last stable offset, where a read_committed consumer stops; null in the past
    point_offset BIGINT: backfill: the first record at or after observed_at; null if there is none
    point_time TIMESTAMP: that record's own timestamp

    lag_history: Lag and verdict of a group on a partition at each time that the partition's log end is known for.
    derived; identity cluster_id, group, topic, partition, observed_at; dated by observed_at
    cluster_id, group, topic, partition
    observed_at TIMESTAMP: the time of the values in this row
    origin STRING: sample or backfill: the source of the log end offset
    committed_offset BIGINT: the last commit at that time
    commit_time TIMESTAMP: when it was committed; of a sample, the time of the last sample with it
    commit_origin STRING: topic or sample: the source of the commit
    log_start_offset BIGINT: as in partition_offsets
    log_end_offset BIGINT: as in partition_offsets
    last_stable_offset BIGINT: as in partition_offsets
    lag BIGINT: log end offset minus committed offset; negative if the log was truncated, or by producers' clocks
    time_lag_ms BIGINT: age of the oldest record that is not processed yet; 0 if there is none
    time_lag_quality STRING: exact, interpolated, lower_bound, data_loss or unknown
    consume_rate DOUBLE: records consumed per second, over the last ten minutes, from commits
    produce_rate DOUBLE: records produced per second, over the same time, from log end offsets
    catch_up_ms BIGINT: time until lag is 0 at these rates; null if it does not fall
    retention_margin BIGINT: committed offset minus log start offset: records until data is lost; negative: data was
        lost
    verdict STRING: OK, UNKNOWN, WARN, STOP, STALL or REWIND, from a window of commits
    rule STRING: the rule that gave it, see kafka_groups.verdicts
    complete DOUBLE: filled share of the window
    window_start TIMESTAMP: the first commit of the window; of samples, when its offset was first seen
    window_end TIMESTAMP: the last commit of the window; of samples as above

    group_status: Verdict, lag and state of a group at each time that lag_history has a row of it; partitions count as
        last seen within ten minutes.
    derived; identity cluster_id, group, evaluated_at; dated by evaluated_at
    cluster_id, group
    evaluated_at TIMESTAMP: the time of the values in this row
    verdict STRING: the worst of its partitions: OK, UNKNOWN, WARN, STOP, STALL or REWIND
    rule STRING: the rule that gave it, see kafka_groups.verdicts
    complete DOUBLE: share of partitions whose windows are complete
    window_start TIMESTAMP: the first commit of the windows
    window_end TIMESTAMP: the last commit of the windows
    partitions INT: number of partitions in this row: with a commit and a known log end
    lag BIGINT: sum of the lags above 0
    time_lag_ms BIGINT: longest known time lag of a partition
    time_lag_quality STRING: the least certain of its partitions: data_loss, unknown, lower_bound, interpolated or
        exact
    consume_rate DOUBLE: sum of the partitions' rates; null if one is unknown
    produce_rate DOUBLE: sum of the partitions' rates; null if one is unknown
    catch_up_ms BIGINT: longest of the partitions; null if lag of one does not fall, or there is no lag
    state STRING: state of the group, where known
    members INT: number of members, where known

    rebalances: Rebalances, with the members that joined and left.
    derived; identity cluster_id, group, protocol, generation, started_at; dated by started_at
    cluster_id, group
    protocol STRING: classic or consumer (KIP-848)
    generation INT: generation, or group epoch
    started_at TIMESTAMP: KIP-848: the epoch's bump; classic: the earliest it can have begun, else the record
    ended_at TIMESTAMP: KIP-848: when all members were stable, or the next epoch began, null while open; classic: its
        record
    duration_ms BIGINT: ended minus started
    duration_quality STRING: exact (KIP-848), bound (classic: not longer than this, for it began after the record
        before, and at most the members' rebalance timeout before all had joined; KIP-848: until the next epoch, where
        it is not known how many members there were), overtaken (KIP-848: until the next epoch, which began before all
        members had reached this one), open (by the end of the day after not all members had reached it) or unknown
        (nor is it known how many there were)
    sync_ms BIGINT: classic: how long the last phase took
    members_before INT: number of members before; null if those records are lost, and nobody who was there wrote (to
        the end of the next day) or went
    members_after INT: number of members after; null if that of those who were there is not known
    joined ARRAY<STRING>: members that joined, except those that an online upgrade or downgrade kept; null if unknown
    left ARRAY<STRING>: members that left; null if unknown

    group_daily: A group's day.
    derived; identity cluster_id, group, day; dated by day
    cluster_id, group
    day TIMESTAMP: midnight, UTC
    commits BIGINT: commits written that day; null if the group is known from samples only
    commit_rate DOUBLE: commits a second, from midnight to the last record of __consumer_offsets that was read of the
        cluster on that day, or for a minute at least
    partitions INT: partitions with a commit
    topics ARRAY<STRING>: their topics
    members_max INT: most members at a time; null where not known
    rebalances INT: rebalances that began (classic: that may have begun); null where no record of the cluster was read,
        and of share and streams groups
    rebalance_ms BIGINT: time spent in those whose duration is known; an upper bound where a bound is among them
    messages_consumed BIGINT: offsets by which commits advanced (not bytes, and not exactly records)
    max_lag BIGINT: largest lag, summed over partitions
    last_lag BIGINT: lag at the last observation
    max_time_lag_ms BIGINT: longest time lag
    worst_verdict STRING: worst verdict of the group in group_status that day
    skew DOUBLE: largest partition's share of a topic's consumption over the mean share; 1 is even. Of topics of which
        1,000 offsets were consumed, the most uneven one's; null if there is none. A partition without a commit counts
        if nothing was written to it that day
    retention_margin BIGINT: least margin of a partition that day, in records
    last_retention_margin BIGINT: least margin of a partition at the group's last observation
    retention_left_ms BIGINT: least time until the log start passes a commit with lag, at the day's rates of both;
        null: it does not, no commit has lag, or there is less than an hour to compute rates from
    last_commit_time TIMESTAMP: the group's last commit until the day's end
    is_idle BOOLEAN: true: no commit in the 24 hours until it was last looked at, and no member seen that day
    orphaned_partitions INT: partitions of which the last sample saw a commit, but not the partition

    topic_daily: A topic's day: records written, and groups that read them.
    derived; identity cluster_id, topic, day; dated by day
    cluster_id, topic, day
    partitions INT: partitions seen
    messages_produced BIGINT: growth of the log ends between the day's first and last observation; null if there is but
        one
    readers INT: groups whose commits on it moved that day
    committed INT: groups that have a commit on it
    is_unread BOOLEAN: true: it is there, no group has a commit on it that the build sees, and no member or share group
        is known to read it
    lookback_days INT: number of days before that day whose commits were read, too

    sample_runs: Samples that were finished; rows of another sample do not count.
    facts; identity cluster_id, sampled_at; dated by sampled_at
    cluster_id
    sample STRING: name of the sample
    groups_at TIMESTAMP: when groups were listed: record_time of its rows in group_events
    commits_at TIMESTAMP: when commits were requested: record_time of its rows in offset_commits
    sampled_at TIMESTAMP: when log ends were requested: observed_at of its rows in partition_offsets
    groups BIGINT: rows in group_events
    commits BIGINT: rows in offset_commits
    partitions BIGINT: rows in partition_offsets
    failures BIGINT: groups, partitions and brokers whose part is missing

    ingest_gaps: Offsets of __consumer_offsets for which no record was returned when they were read.
    facts; identity cluster_id, source_partition, from_offset, until_offset; dated by found_at
    cluster_id
    source_partition INT: partition of __consumer_offsets
    from_offset BIGINT: first offset of the range
    until_offset BIGINT: last offset of the range
    missing BIGINT: how many of them have no record
    reason STRING: deleted: below the log start; compacted: compaction, transaction marks and aborts
    found_at TIMESTAMP: when it was found

    unknown_records: Records that this version cannot decode, unchanged: nothing is dropped.
    facts; identity cluster_id, source_partition, source_offset; dated by record_time
    cluster_id, source_partition, source_offset, record_time
    record_type SMALLINT: type of the key, where it has one
    value_version SMALLINT: version of the value, where it has one
    group
    key BINARY: the key's bytes
    value BINARY: the value's bytes; null for a tombstone
    problem STRING: why it was not decoded

    partition_state: What a build hands from day to day: of topic partitions (group null), and of groups on them.
    derived; identity cluster_id, topic, partition, group, day; dated by day
    cluster_id, topic, partition, group, day
    state BINARY: numbers, as transform/state.py has them

    group_state: What a build hands from day to day: of groups.
    derived; identity cluster_id, group, day; dated by day
    cluster_id, group, day
    state STRING: members, epochs and subscriptions, as JSON
    """
)
OFFSET_COMMITS, GROUP_EVENTS, PARTITION_OFFSETS, LAG_HISTORY, GROUP_STATUS, REBALANCES, GROUP_DAILY, *_OTHERS = _ALL
TOPIC_DAILY, SAMPLE_RUNS, INGEST_GAPS, UNKNOWN_RECORDS, PARTITION_STATE, GROUP_STATE = _OTHERS

# States hold at the end of their day. They are not documented, and may change with any version.
STATES: Final = (PARTITION_STATE, GROUP_STATE)
# All tables of a data directory, by name, in the order of the documentation.
STORED: Final = {table.name: table for table in _ALL}
TABLES: Final = {name: table for name, table in STORED.items() if table not in STATES}
