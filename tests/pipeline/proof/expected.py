"""The differences from the old commit that are expected, because a defect of the old code was removed.

An entry names the defect, the table, the columns, and, as a function of the Difference, the rows that may differ. Where
a defect concerns what happened in a history, the rows are those of the partitions, groups or topics to which it
happened: the facts of the seed show that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, Final

from tests.pipeline.proof.differences import Difference, Expected
from tests.pipeline.proof.random_facts import Row, facts_of
from tests.pipeline.proof.trees import REPORT_DOCUMENT, REPORT_FINDINGS, REPORT_GROUPS, REPORT_POINTS, REPORT_REBALANCES

_VERDICT_COLUMNS: Final = frozenset({"complete", "rule", "verdict", "window_start", "window_end"})
_STATUS_COLUMNS: Final = _VERDICT_COLUMNS | {
    "catch_up_ms",
    "consume_rate",
    "lag",
    "partitions",
    "produce_rate",
    "time_lag_ms",
    "time_lag_quality",
}
_REPORT_COLUMNS: Final = _STATUS_COLUMNS | {"evaluated_at", "lag_quality", "lagging_since", "lagging_since_is_bound"}
_MEMBERSHIP_COLUMNS: Final = frozenset(
    {"duration_ms", "duration_quality", "ended_at", "joined", "left", "members_after", "members_before"}
)


def _is_now_unknown(difference: Difference) -> bool:
    """Return whether the new row has null in each column that differs."""
    return difference.new is not None and all(difference.new[name] is None for name in difference.columns)


@dataclass(frozen=True, slots=True)
class _Disturbed:
    """Where a seed has a sampled log end that falls, or a topic id that changes; and where both samples and records.

    Without such an event in a partition, its rows must not differ by defects 37 and 45.
    """

    topics: frozenset[str]
    groups: frozenset[str]
    partitions: frozenset[tuple[str, int]]
    mixed_groups: frozenset[str]


@cache
def _disturbed(seed: int) -> _Disturbed:
    facts = facts_of(seed, 1)
    partitions = {place for place, rows in _samples_by_partition(facts["partition_offsets"]) if _is_disturbed(rows)}
    origins: dict[str, set[str]] = defaultdict(set)
    groups = set()
    for row in facts["offset_commits"]:
        origins[row["group"]].add(row["origin"])
        if (row["topic"], row["partition"]) in partitions:
            groups.add(row["group"])
    return _Disturbed(
        topics=frozenset(topic for topic, _ in partitions),
        groups=frozenset(groups),
        partitions=frozenset(partitions),
        mixed_groups=frozenset(group for group, seen in origins.items() if len(seen) > 1),
    )


def _samples_by_partition(rows: list[Row]) -> Iterator[tuple[tuple[str, int], list[Row]]]:
    by_partition: dict[tuple[str, int], list[Row]] = defaultdict(list)
    for row in rows:
        if row["origin"] == "sample" and row["log_end_offset"] is not None:
            by_partition[row["topic"], row["partition"]].append(row)
    yield from by_partition.items()


def _is_disturbed(samples: list[Row]) -> bool:
    ordered = sorted(samples, key=lambda row: row["observed_at"])
    ids = {row.get("topic_id") for row in ordered} - {None}
    falls = any(after["log_end_offset"] < before["log_end_offset"] for before, after in pairwise(ordered))
    return len(ids) > 1 or falls


def _on_disturbed_partition(difference: Difference) -> bool:
    """Return whether a row of lag_history is of a partition whose log changed."""
    _cluster, _group, topic, partition, *_ = difference.key
    return (topic, partition) in _seed_of(difference).partitions


def _of_disturbed_group(difference: Difference) -> bool:
    return difference.key[1] in _seed_of(difference).groups


def _of_disturbed_topic(difference: Difference) -> bool:
    return difference.key[1] in _seed_of(difference).topics


def _of_mixed_group(difference: Difference) -> bool:
    return difference.key[1] in _seed_of(difference).mixed_groups


def _of_disturbed_or_mixed_group(difference: Difference) -> bool:
    return _of_disturbed_group(difference) or _of_mixed_group(difference)


def _seed_of(difference: Difference) -> _Disturbed:
    assert difference.seed is not None
    return _disturbed(difference.seed)


def _expect(
    defect: int,
    table: str,
    columns: Any,
    why: str,
    applies: Callable[[Difference], bool],
    *,
    is_whole_row: bool = False,
) -> Expected:
    return Expected(
        defect=defect,
        table=table,
        columns=frozenset(columns),
        why=why,
        applies=applies,
        is_whole_row=is_whole_row,
    )


_COMMITS_OF_TOPICS: Final = (
    "Commits belong to the topic of their log: a log end of another topic says nothing about them."
)
_ONE_TOPIC: Final = "A log end that falls on one topic id, and rises again, is that of another sampler's clock."
_READ: Final = "A sample is no newer evidence if a record of the next minute has its offset: clocks differ."
_MEMBERS: Final = "A tombstone of a member that was never seen proves nothing about when it joined."

EXPECTED: Final = (
    _expect(
        44, "rebalances", {"joined", "left", "members_before"}, "A lost generation hides who joined.", _is_now_unknown
    ),
    _expect(44, REPORT_REBALANCES, {"joined", "left"}, "The report has null for them, too.", _is_now_unknown),
    Expected(defect=36, table="group_daily", columns=frozenset({"clock_jump_ms"}), why="A new column."),
    Expected(defect=39, table="rebalances", columns=_MEMBERSHIP_COLUMNS, why=_MEMBERS, is_whole_row=True),
    Expected(
        defect=39, table="group_daily", columns=frozenset({"members_max", "rebalances", "rebalance_ms"}), why=_MEMBERS
    ),
    Expected(defect=39, table="group_status", columns=frozenset({"members"}), why=_MEMBERS),
    Expected(defect=39, table=REPORT_REBALANCES, columns=_MEMBERSHIP_COLUMNS, why=_MEMBERS, is_whole_row=True),
    _expect(37, "lag_history", _STATUS_COLUMNS, _COMMITS_OF_TOPICS, _on_disturbed_partition, is_whole_row=True),
    _expect(37, "group_status", _STATUS_COLUMNS, _COMMITS_OF_TOPICS, _of_disturbed_group, is_whole_row=True),
    _expect(
        37,
        "group_daily",
        {"max_lag", "last_lag", "max_time_lag_ms", "worst_verdict", "messages_consumed", "skew", "retention_margin"},
        _COMMITS_OF_TOPICS,
        _of_disturbed_group,
    ),
    _expect(37, "group_daily", {"last_retention_margin", "retention_left_ms"}, _COMMITS_OF_TOPICS, _of_disturbed_group),
    _expect(37, "topic_daily", {"messages_produced", "readers"}, _ONE_TOPIC, _of_disturbed_topic),
    _expect(37, REPORT_POINTS, {"lag", "time_lag_ms"}, _COMMITS_OF_TOPICS, _of_disturbed_group, is_whole_row=True),
    _expect(37, REPORT_GROUPS, _REPORT_COLUMNS, _COMMITS_OF_TOPICS, _of_disturbed_group),
    _expect(45, "lag_history", _VERDICT_COLUMNS, _READ, _of_mixed_group),
    _expect(45, "group_status", _VERDICT_COLUMNS, _READ, _of_mixed_group),
    _expect(45, "group_daily", {"worst_verdict"}, _READ, _of_mixed_group),
    _expect(45, REPORT_GROUPS, _VERDICT_COLUMNS, _READ, _of_mixed_group),
    _expect(
        44,
        "group_daily",
        {"messages_consumed", "skew", "last_retention_margin", "retention_left_ms"},
        "Samples after a day's last record count once; a removed commit has no last margin.",
        _of_disturbed_or_mixed_group,
    ),
    Expected(
        defect=44,
        table=REPORT_FINDINGS,
        columns=frozenset({"message"}),
        why="Sentences of the report were reworded; their numbers follow from the tables.",
        is_whole_row=True,
    ),
    Expected(
        defect=44,
        table=REPORT_DOCUMENT,
        columns=frozenset({"missing"}),
        why="Sentences of the report were reworded.",
    ),
)
