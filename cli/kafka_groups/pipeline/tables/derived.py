"""The derived tables: made anew from the facts, date by date."""

from __future__ import annotations

from typing import Final

from kafka_groups.pipeline.records.columns import TIME
from kafka_groups.pipeline.tables.shape import (
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
    "Lag of a group on a partition at each time that the partition's log end is known for.",
    ("cluster_id", "group", "topic", "partition", "observed_at"),
    "observed_at",
    (
        CLUSTER,
        GROUP,
        TOPIC,
        PARTITION,
        Column("observed_at", TIME, "the time that the row speaks of"),
        Column("origin", TEXT, "sample or backfill: where the log end is from"),
        Column("committed_offset", LONG, "the last commit at that time"),
        Column("commit_time", TIME, "when it was committed"),
        Column("commit_origin", TEXT, "topic or sample: where the commit is from"),
        Column("log_start_offset", LONG, "as in partition_offsets"),
        Column("log_end_offset", LONG, "as in partition_offsets"),
        Column("last_stable_offset", LONG, "as in partition_offsets"),
        Column("lag", LONG, "log end minus committed; negative where the log was cut"),
        Column("time_lag_ms", LONG, "age of the oldest record not yet processed; 0 when none is left"),
        Column("time_lag_quality", TEXT, "exact, interpolated, lower_bound, data_loss or unknown"),
        Column("consume_rate", REAL, "records a second that commits moved on, over the last ten minutes"),
        Column("produce_rate", REAL, "records a second that the log grew, over the same time"),
        Column("catch_up_ms", LONG, "time until lag is 0 at these rates; null if it does not fall"),
        Column("retention_margin", LONG, "committed minus log start: records until data is lost; negative: it was"),
    ),
    derived=True,
)

GROUP_STATUS: Final = Table(
    "group_status",
    "Verdicts on windows of commits, for partitions, and for groups (topic and partition null): the worst of them.",
    ("cluster_id", "group", "topic", "partition", "evaluated_at"),
    "evaluated_at",
    (
        CLUSTER,
        GROUP,
        TOPIC,
        PARTITION,
        Column("evaluated_at", TIME, "the time that the verdict is for"),
        Column("verdict", TEXT, "OK, WARN, STOP, STALL or REWIND; of a group: OK, WARN or ERR"),
        Column("rule", TEXT, "the rule that gave it, see kafka_groups.verdicts"),
        Column("complete", REAL, "share of the window that is filled; of a group: share of complete partitions"),
        Column("window_start", TIME, "the first commit of the window"),
        Column("window_end", TIME, "the last commit of the window"),
        Column("lag", LONG, "lag at that time; of a group: the sum, each partition as last seen within ten minutes"),
        Column("state", TEXT, "state of the group, where known"),
        Column("members", INT, "number of members, where known"),
    ),
    derived=True,
)

REBALANCES: Final = Table(
    "rebalances",
    "Rebalances, with who came and who went.",
    ("cluster_id", "group", "protocol", "generation", "started_at"),
    "started_at",
    (
        CLUSTER,
        GROUP,
        Column("protocol", TEXT, "classic or consumer (KIP-848)"),
        Column("generation", INT, "generation, or group epoch"),
        Column("started_at", TIME, "KIP-848: the epoch's bump; classic: the last commit before, else the record"),
        Column("ended_at", TIME, "when all members were stable; null while open"),
        Column("duration_ms", LONG, "ended minus started"),
        Column(
            "duration_quality",
            TEXT,
            "exact (KIP-848), bound (classic: not longer than this) or open (not all members reached it)",
        ),
        Column("sync_ms", LONG, "classic: how long the last phase took"),
        Column("members_before", INT, "number of members before"),
        Column("members_after", INT, "number of members after"),
        Column("joined", TEXTS, "members that came"),
        Column("left", TEXTS, "members that went"),
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
        Column("commits", LONG, "commits written that day; null where only samples tell of the group"),
        Column("commit_rate", REAL, "commits a second"),
        Column("partitions", INT, "partitions with a commit"),
        Column("topics", TEXTS, "their topics"),
        Column("members_max", INT, "most members at a time"),
        Column("rebalances", INT, "rebalances that began"),
        Column("rebalance_ms", LONG, "time spent in them; an upper bound where a classic one is among them"),
        Column("messages_consumed", LONG, "offsets that commits moved on (not bytes, and not exactly records)"),
        Column("max_lag", LONG, "largest lag, summed over partitions"),
        Column("last_lag", LONG, "lag at the last observation"),
        Column("max_time_lag_ms", LONG, "longest time lag"),
        Column("worst_verdict", TEXT, "worst verdict of the day"),
        Column("skew", REAL, "largest partition's share of consumption over the mean share; 1 is even"),
        Column("retention_margin", LONG, "least margin of a partition, in records"),
        Column(
            "retention_left_ms",
            LONG,
            "least time until the log start passes a commit with lag, at the day's rates of both; null: it does not",
        ),
        Column("last_commit_time", TIME, "the group's last commit until the day's end"),
        Column("is_idle", FLAG, "true: no commit all day, and no member seen"),
        Column("orphaned_partitions", INT, "partitions with commits whose topic partition is gone"),
    ),
    derived=True,
)

TOPIC_DAILY: Final = Table(
    "topic_daily",
    "A topic's day: what was written, and who read it.",
    ("cluster_id", "topic", "day"),
    "day",
    (
        CLUSTER,
        TOPIC,
        Column("day", TIME, "midnight, UTC"),
        Column("partitions", INT, "partitions seen"),
        Column("messages_produced", LONG, "growth of the log ends between the day's first and last observation"),
        Column("readers", INT, "groups whose commits on it moved that day"),
        Column("committed", INT, "groups that have a commit on it"),
        Column("is_unread", FLAG, "true: no group has a commit on it"),
    ),
    derived=True,
)
