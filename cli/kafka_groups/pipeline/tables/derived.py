"""Tables that a build derives from facts, date by date."""

from __future__ import annotations

from typing import Any

from kafka_groups.pipeline.frames.columns import (
    BOOLEAN,
    FLOAT64,
    INT32,
    INT64,
    MILLISECONDS,
    OFFSET,
    PER_SECOND,
    RECORDS,
    STRING,
    STRINGS,
    TIMESTAMP,
    column,
)
from kafka_groups.pipeline.frames.frame import Frame, frame


@frame
class LagHistory(Frame):
    """A row has lag and verdict of a group on a partition, at a time for which the log end offset is known."""

    cluster_id: Any = column(STRING, "Kafka's id of the cluster")
    group: Any = column(STRING, "id of the group")
    topic: Any = column(STRING, "name of the topic")
    partition: Any = column(INT32, "partition of the topic")
    observed_at: Any = column(TIMESTAMP, "time of the values in this row")
    origin: Any = column(STRING, "sample or backfill: the source of the log end offset")
    committed_offset: Any = column(INT64, "offset of the last commit until that time", unit=OFFSET)
    commit_time: Any = column(
        TIMESTAMP,
        "when it was committed; if commit_origin is sample, the time of the last sample that saw it",
    )
    commit_origin: Any = column(STRING, "topic or sample: the source of the commit")
    log_start_offset: Any = column(INT64, "as in partition_offsets", unit=OFFSET)
    log_end_offset: Any = column(INT64, "as in partition_offsets", unit=OFFSET)
    last_stable_offset: Any = column(INT64, "as in partition_offsets", unit=OFFSET)
    lag: Any = column(
        INT64,
        "log end offset minus committed offset; negative if the log was truncated, or because of producers' clocks",
        unit=RECORDS,
    )
    time_lag_ms: Any = column(
        INT64,
        "age of the oldest record that the group has not processed yet; 0 if there is none",
        unit=MILLISECONDS,
    )
    time_lag_quality: Any = column(STRING, "exact, interpolated, lower_bound, data_loss or unknown")
    consume_rate: Any = column(
        FLOAT64,
        "records consumed per second, over the last ten minutes, from commits",
        unit=PER_SECOND,
    )
    produce_rate: Any = column(
        FLOAT64,
        "records produced per second, over the same time, from log end offsets",
        unit=PER_SECOND,
    )
    catch_up_ms: Any = column(
        INT64,
        "time until the lag is 0 at these rates; null if the lag does not fall",
        unit=MILLISECONDS,
    )
    retention_margin: Any = column(
        INT64,
        "committed offset minus log start offset: records until data is lost; negative: data was lost",
        unit=RECORDS,
    )
    verdict: Any = column(STRING, "OK, UNKNOWN, WARN, STALL, REWIND or STOP (docs/verdicts.md)")
    rule: Any = column(STRING, "the rule that gave the verdict")
    verdict_since: Any = column(TIMESTAMP, "since when that verdict has been given at each observation")


@frame
class GroupStatus(Frame):
    """A row has verdict, lag and state of a group, at each time at which lag_history has a row of its partitions.

    Each partition counts with its last row of the last ten minutes.
    """

    cluster_id: Any = column(STRING, "Kafka's id of the cluster")
    group: Any = column(STRING, "id of the group")
    evaluated_at: Any = column(TIMESTAMP, "time of the values in this row")
    verdict: Any = column(STRING, "the worst of its partitions: OK, UNKNOWN, WARN, STALL, REWIND or STOP")
    rule: Any = column(STRING, "the rule that gave the verdict")
    verdict_since: Any = column(
        TIMESTAMP,
        "since when a partition has had that verdict; for OK, since when all partitions have had it",
    )
    partitions: Any = column(
        INT32,
        "number of partitions that the row sums up: those with a commit and a known log end offset",
    )
    lag: Any = column(INT64, "sum of the lags that are greater than 0", unit=RECORDS)
    time_lag_ms: Any = column(INT64, "longest known time lag of a partition", unit=MILLISECONDS)
    time_lag_quality: Any = column(
        STRING,
        "the least certain of its partitions: data_loss, unknown, lower_bound, interpolated or exact",
    )
    consume_rate: Any = column(FLOAT64, "sum of the partitions' rates; null if one is unknown", unit=PER_SECOND)
    produce_rate: Any = column(FLOAT64, "sum of the partitions' rates; null if one is unknown", unit=PER_SECOND)
    catch_up_ms: Any = column(
        INT64,
        "longest time of a partition; null if the lag of one does not fall, or if there is no lag",
        unit=MILLISECONDS,
    )
    state: Any = column(STRING, "state of the group; null if unknown")
    members: Any = column(INT32, "number of members; null if unknown")


@frame
class Rebalances(Frame):
    """A row is a rebalance, with the members that joined and left."""

    cluster_id: Any = column(STRING, "Kafka's id of the cluster")
    group: Any = column(STRING, "id of the group")
    protocol: Any = column(STRING, "classic or consumer (KIP-848)")
    generation: Any = column(INT32, "generation, or group epoch")
    started_at: Any = column(
        TIMESTAMP,
        "KIP-848: when the group epoch was raised; classic: the earliest time at which it can have begun, or that "
        "of its record if nothing shows that time",
    )
    ended_at: Any = column(
        TIMESTAMP,
        "KIP-848: when all members were stable, or the next epoch began, null while open; classic: the time of its "
        "record",
    )
    duration_ms: Any = column(INT64, "ended_at minus started_at", unit=MILLISECONDS)
    duration_quality: Any = column(
        STRING,
        "exact (KIP-848); bound: not longer than this (classic: it began after the previous record; KIP-848: until the "
        "next epoch, because the number of members is not known); timeout (classic): not longer than the members' "
        "rebalance timeout, which says nothing about how long it took; overtaken (KIP-848): until the next epoch, "
        "which began before all members had reached this one; open (KIP-848): not all members had reached it by the "
        "end of the next day; unknown (KIP-848): open, and the number of members is not known",
    )
    sync_ms: Any = column(
        INT64,
        "classic: duration of the last phase, from when all members had joined",
        unit=MILLISECONDS,
    )
    members_before: Any = column(
        INT32,
        "number of members before; null if records of earlier members are lost, and none of these members wrote or "
        "left by the end of the next day",
    )
    members_after: Any = column(INT32, "number of members after; null if the number of earlier members is not known")
    joined: Any = column(
        STRINGS,
        "members that joined, except those that an online upgrade or downgrade kept; null if unknown",
    )
    left: Any = column(STRINGS, "members that left; null if unknown")


@frame
class GroupDaily(Frame):
    """A row sums up a day of a group."""

    cluster_id: Any = column(STRING, "Kafka's id of the cluster")
    group: Any = column(STRING, "id of the group")
    day: Any = column(TIMESTAMP, "midnight, UTC")
    commits: Any = column(INT64, "commits written that day; null if the group is known from samples only")
    commit_rate: Any = column(
        FLOAT64,
        "commits per second, from midnight to the cluster's last record of that day which was read from "
        "__consumer_offsets, at least for a minute",
        unit=PER_SECOND,
    )
    partitions: Any = column(INT32, "number of partitions with a commit")
    topics: Any = column(STRINGS, "topics of these partitions")
    max_members: Any = column(INT32, "largest number of members at a time; null if unknown")
    rebalances: Any = column(
        INT32,
        "number of rebalances that began (classic: that may have begun); null if no record of the cluster was read, "
        "and for share and streams groups",
    )
    rebalance_ms: Any = column(
        INT64,
        "time spent in rebalances whose duration is known; an upper bound if the duration of one is a bound",
        unit=MILLISECONDS,
    )
    records_consumed: Any = column(
        INT64,
        "offsets by which commits advanced (not bytes, and not exactly records)",
        unit=RECORDS,
    )
    max_lag: Any = column(INT64, "largest sum of the lags of all partitions", unit=RECORDS)
    last_lag: Any = column(INT64, "sum of the lags at the last observation", unit=RECORDS)
    max_time_lag_ms: Any = column(INT64, "longest time lag of a partition", unit=MILLISECONDS)
    worst_verdict: Any = column(STRING, "worst verdict of the group in group_status that day")
    skew: Any = column(
        FLOAT64,
        "largest share of a partition in the consumption of a topic, divided by the mean share; 1 is even. The "
        "most uneven topic with at least 1,000 consumed offsets counts; null if there is none. A "
        "partition without a commit counts if nothing was written to it that day",
    )
    retention_margin: Any = column(INT64, "least retention margin of a partition that day", unit=RECORDS)
    last_retention_margin: Any = column(
        INT64,
        "least retention margin of a partition at the group's last observation",
        unit=RECORDS,
    )
    retention_left_ms: Any = column(
        INT64,
        "least time until the log start offset passes a commit with lag, at the day's rates of both; null if it "
        "does not, if no commit has lag, or if there is less than an hour to compute rates from",
        unit=MILLISECONDS,
    )
    last_commit_time: Any = column(TIMESTAMP, "time of the group's last commit until the day's end")
    is_idle: Any = column(
        BOOLEAN,
        "true if the group had no commit in the 24 hours before its last observation, and no member was seen that day",
    )
    orphaned_partitions: Any = column(
        INT32,
        "number of partitions that have a commit in the last sample, but do not exist in it",
    )
    clock_jump_ms: Any = column(
        INT64,
        "by how much the times of commits fell at most, from a record to the next one in the log: the clocks of "
        "brokers differ by this at least; 0 if they did not fall",
        unit=MILLISECONDS,
    )


@frame
class TopicDaily(Frame):
    """A row sums up a day of a topic: records written, and groups that read them."""

    cluster_id: Any = column(STRING, "Kafka's id of the cluster")
    topic: Any = column(STRING, "name of the topic")
    day: Any = column(TIMESTAMP, "midnight, UTC")
    partitions: Any = column(INT32, "number of partitions that were seen")
    records_produced: Any = column(
        INT64,
        "growth of the log end offsets between the day's first and last observation; null if there is only one",
        unit=RECORDS,
    )
    active_groups: Any = column(INT32, "number of groups whose commits on the topic moved that day")
    groups_with_commits: Any = column(INT32, "number of groups that have a commit on the topic")
    is_unread: Any = column(
        BOOLEAN,
        "true if the topic exists, no group has a commit on it that the build sees, and no member or share group is "
        "known to read it",
    )
    lookback_days: Any = column(INT32, "number of days before that day whose commits were read as well")
