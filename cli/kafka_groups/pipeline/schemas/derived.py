"""The derived tables: written again from the facts, date by date."""

from __future__ import annotations

from typing import Final

from kafka_groups.pipeline.decode.columns import TIME
from kafka_groups.pipeline.schemas.shape import (
    CLUSTER,
    FLAG,
    GROUP,
    INT,
    LONG,
    PARTITION,
    REAL,
    TEXT,
    TEXTS,
    TOPIC,
    Column,
    Table,
)

LAG_HISTORY: Final = Table(
    "lag_history",
    "Lag and verdict of a group on a partition at each time that the partition's log end is known for.",
    ("cluster_id", "group", "topic", "partition", "observed_at"),
    "observed_at",
    (
        CLUSTER,
        GROUP,
        TOPIC,
        PARTITION,
        Column("observed_at", TIME, "the time of the values in this row"),
        Column("origin", TEXT, "sample or backfill: the source of the log end offset"),
        Column("committed_offset", LONG, "the last commit at that time"),
        Column("commit_time", TIME, "when it was committed; of a sample, the time of the last sample with it"),
        Column("commit_origin", TEXT, "topic or sample: the source of the commit"),
        Column("log_start_offset", LONG, "as in partition_offsets"),
        Column("log_end_offset", LONG, "as in partition_offsets"),
        Column("last_stable_offset", LONG, "as in partition_offsets"),
        Column(
            "lag",
            LONG,
            "log end offset minus committed offset; negative if the log was truncated, or by producers' clocks",
        ),
        Column("time_lag_ms", LONG, "age of the oldest record that is not processed yet; 0 if there is none"),
        Column("time_lag_quality", TEXT, "exact, interpolated, lower_bound, data_loss or unknown"),
        Column("consume_rate", REAL, "records consumed per second, over the last ten minutes, from commits"),
        Column("produce_rate", REAL, "records produced per second, over the same time, from log end offsets"),
        Column("catch_up_ms", LONG, "time until lag is 0 at these rates; null if it does not fall"),
        Column(
            "retention_margin",
            LONG,
            "committed offset minus log start offset: records until data is lost; negative: data was lost",
        ),
        Column("verdict", TEXT, "OK, UNKNOWN, WARN, STOP, STALL or REWIND, from a window of commits"),
        Column("rule", TEXT, "the rule that gave it, see kafka_groups.verdicts"),
        Column("complete", REAL, "filled share of the window"),
        Column("window_start", TIME, "the first commit of the window; of samples, when its offset was first seen"),
        Column("window_end", TIME, "the last commit of the window; of samples as above"),
    ),
    derived=True,
)

GROUP_STATUS: Final = Table(
    "group_status",
    "Verdict, lag and state of a group at each time that lag_history has a row of it; partitions count as last seen "
    "within ten minutes.",
    ("cluster_id", "group", "evaluated_at"),
    "evaluated_at",
    (
        CLUSTER,
        GROUP,
        Column("evaluated_at", TIME, "the time of the values in this row"),
        Column("verdict", TEXT, "the worst of its partitions: OK, UNKNOWN, WARN, STOP, STALL or REWIND"),
        Column("rule", TEXT, "the rule that gave it, see kafka_groups.verdicts"),
        Column("complete", REAL, "share of partitions whose windows are complete"),
        Column("window_start", TIME, "the first commit of the windows"),
        Column("window_end", TIME, "the last commit of the windows"),
        Column("partitions", INT, "number of partitions in this row: with a commit and a known log end"),
        Column("lag", LONG, "sum of the lags above 0"),
        Column("time_lag_ms", LONG, "longest known time lag of a partition"),
        Column(
            "time_lag_quality",
            TEXT,
            "the least certain of its partitions: data_loss, unknown, lower_bound, interpolated or exact",
        ),
        Column("consume_rate", REAL, "sum of the partitions' rates; null if one is unknown"),
        Column("produce_rate", REAL, "sum of the partitions' rates; null if one is unknown"),
        Column("catch_up_ms", LONG, "longest of the partitions; null if lag of one does not fall, or there is no lag"),
        Column("state", TEXT, "state of the group, where known"),
        Column("members", INT, "number of members, where known"),
    ),
    derived=True,
)

REBALANCES: Final = Table(
    "rebalances",
    "Rebalances, with the members that joined and left.",
    ("cluster_id", "group", "protocol", "generation", "started_at"),
    "started_at",
    (
        CLUSTER,
        GROUP,
        Column("protocol", TEXT, "classic or consumer (KIP-848)"),
        Column("generation", INT, "generation, or group epoch"),
        Column(
            "started_at", TIME, "KIP-848: the epoch's bump; classic: the earliest it can have begun, else the record"
        ),
        Column(
            "ended_at",
            TIME,
            "KIP-848: when all members were stable, or the next epoch began, null while open; classic: its record",
        ),
        Column("duration_ms", LONG, "ended minus started"),
        Column(
            "duration_quality",
            TEXT,
            "exact (KIP-848), bound (classic: not longer than this, for it began after the record before, and at most "
            "the members' rebalance timeout before all had joined; KIP-848: until the next epoch, where it is not "
            "known how many members there were), overtaken (KIP-848: until the next epoch, which began before all "
            "members had reached this one), open (by the end of the day after not all members had reached it) or "
            "unknown (nor is it known how many there were)",
        ),
        Column("sync_ms", LONG, "classic: how long the last phase took"),
        Column(
            "members_before",
            INT,
            "number of members before; null if those records are lost, and nobody who was there wrote (to the end of "
            "the next day) or went",
        ),
        Column("members_after", INT, "number of members after; null if that of those who were there is not known"),
        Column(
            "joined",
            TEXTS,
            "members that joined, except those that an online upgrade or downgrade kept; null if unknown",
        ),
        Column("left", TEXTS, "members that left; null if unknown"),
    ),
    derived=True,
)

GROUP_DAILY: Final = Table(
    "group_daily",
    "A group's day.",
    ("cluster_id", "group", "day"),
    "day",
    (
        CLUSTER,
        GROUP,
        Column("day", TIME, "midnight, UTC"),
        Column("commits", LONG, "commits written that day; null if the group is known from samples only"),
        Column(
            "commit_rate",
            REAL,
            "commits a second, from midnight to the last record of __consumer_offsets that was read of the cluster on "
            "that day, or for a minute at least",
        ),
        Column("partitions", INT, "partitions with a commit"),
        Column("topics", TEXTS, "their topics"),
        Column("members_max", INT, "most members at a time; null where not known"),
        Column(
            "rebalances",
            INT,
            "rebalances that began (classic: that may have begun); null where no record of the cluster was read, and "
            "of share and streams groups",
        ),
        Column(
            "rebalance_ms",
            LONG,
            "time spent in those whose duration is known; an upper bound where a bound is among them",
        ),
        Column("messages_consumed", LONG, "offsets by which commits advanced (not bytes, and not exactly records)"),
        Column("max_lag", LONG, "largest lag, summed over partitions"),
        Column("last_lag", LONG, "lag at the last observation"),
        Column("max_time_lag_ms", LONG, "longest time lag"),
        Column("worst_verdict", TEXT, "worst verdict of the group in group_status that day"),
        Column(
            "skew",
            REAL,
            "largest partition's share of a topic's consumption over the mean share; 1 is even. Of topics of which "
            "1,000 offsets were consumed, the most uneven one's; null if there is none. A partition without a commit "
            "counts if nothing was written to it that day",
        ),
        Column("retention_margin", LONG, "least margin of a partition that day, in records"),
        Column("last_retention_margin", LONG, "least margin of a partition at the group's last observation"),
        Column(
            "retention_left_ms",
            LONG,
            "least time until the log start passes a commit with lag, at the day's rates of both; null: it does not, no"
            " commit has lag, or there is less than an hour to compute rates from",
        ),
        Column("last_commit_time", TIME, "the group's last commit until the day's end"),
        Column(
            "is_idle", FLAG, "true: no commit in the 24 hours until it was last looked at, and no member seen that day"
        ),
        Column("orphaned_partitions", INT, "partitions of which the last sample saw a commit, but not the partition"),
    ),
    derived=True,
)

TOPIC_DAILY: Final = Table(
    "topic_daily",
    "A topic's day: records written, and groups that read them.",
    ("cluster_id", "topic", "day"),
    "day",
    (
        CLUSTER,
        TOPIC,
        Column("day", TIME, "midnight, UTC"),
        Column("partitions", INT, "partitions seen"),
        Column(
            "messages_produced",
            LONG,
            "growth of the log ends between the day's first and last observation; null if there is but one",
        ),
        Column("readers", INT, "groups whose commits on it moved that day"),
        Column("committed", INT, "groups that have a commit on it"),
        Column(
            "is_unread",
            FLAG,
            "true: it is there, no group has a commit on it that the build sees, and no member or share group is known "
            "to read it",
        ),
        Column("lookback_days", INT, "number of days before that day whose commits were read, too"),
    ),
    derived=True,
)
