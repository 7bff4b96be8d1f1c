"""The differences from the old commit that are expected, because a defect of the old code was removed.

An entry names the defect, the table, the columns, and, as a function of the Difference, the rows that may differ. These
are rows for which the facts of the seed show the cause (`predicates.py`), or rows that are derived from such rows
(`consequences.py`). Defects 46 (time index) and 47 (samples beside records) were found during the redesign. Number 38
is no defect: share and streams groups have rebalances.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from tests.pipeline.proof import predicates
from tests.pipeline.proof.consequences import (
    Consequence,
    counts_at,
    is_before,
    is_near_point,
    is_on_day,
    is_same_time,
)
from tests.pipeline.proof.differences import Difference, Expected, ExplainedDifferences
from tests.pipeline.proof.random_facts import Row
from tests.pipeline.proof.trees import REPORT_DOCUMENT, REPORT_FINDINGS, REPORT_GROUPS, REPORT_POINTS, REPORT_REBALANCES

_CONSUMPTION: Final = frozenset({"consume_rate", "catch_up_ms"})
_RATES: Final = _CONSUMPTION | {"produce_rate"}
_TIME_LAG: Final = frozenset({"time_lag_ms", "time_lag_quality"})
_LAG: Final = frozenset({"lag"})
_LAG_STARTS: Final = frozenset({"evaluated_at", "lagging_since", "lagging_since_is_bound", "points"})
_MEMBERS: Final = frozenset({"members_before", "members_after", "joined", "left"})
_ENDS: Final = frozenset({"duration_ms", "duration_quality", "ended_at"})
_CHANGES: Final = frozenset({"joined", "left", "members_before"})


def _expect(
    defect: int,
    table: str,
    columns: Iterable[str],
    why: str,
    applies: Callable[[Difference, ExplainedDifferences], bool],
    *,
    is_whole_row: bool = False,
) -> Expected:
    return Expected(
        defect=defect, table=table, columns=frozenset(columns), why=why, applies=applies, is_whole_row=is_whole_row
    )


def _follow_rows(defect: int) -> Iterator[Expected]:
    """Yield the entries for what follows from rows and numbers of lag_history that a defect explains."""
    yield from _follow_rows_in_tables(defect)
    yield from _follow_rows_in_reports(defect)


def _follow_rows_in_tables(defect: int) -> Iterator[Expected]:
    """Yield the entries of tables that are derived from lag_history."""
    yield Consequence(
        defect=defect,
        table="group_status",
        columns=_RATES | _TIME_LAG | {"lag", "partitions"},
        is_whole_row=True,
        why="A group has the numbers of its partitions in the ten minutes before.",
        source="lag_history",
        is_source=counts_at,
    )
    yield Consequence(
        defect=defect,
        table="group_daily",
        columns=frozenset({"max_lag", "last_lag"}),
        why="A day has the lags of the group on the day.",
        source="group_status",
        is_source=is_on_day,
        from_columns={"max_lag": _LAG, "last_lag": _LAG},
    )
    yield Consequence(
        defect=defect,
        table="group_daily",
        columns=frozenset({"max_time_lag_ms", "min_retention_margin", "last_retention_margin", "retention_left_ms"}),
        why="A day has the numbers of the partitions on the day.",
        source="lag_history",
        is_source=is_on_day,
        from_columns={"max_time_lag_ms": frozenset({"time_lag_ms"})},
    )


def _follow_rows_in_reports(defect: int) -> Iterator[Expected]:
    """Yield the entries of reports on tables that are derived from lag_history."""
    yield Consequence(
        defect=defect,
        table=REPORT_POINTS,
        columns=frozenset({"lag", "time_lag_ms"}),
        is_whole_row=True,
        why="A point has the numbers of the group.",
        source="group_status",
        is_source=is_near_point,
    )
    yield Consequence(
        defect=defect,
        table=REPORT_GROUPS,
        columns=_RATES | _TIME_LAG | {"lag", "lag_quality"},
        why="The report has the last numbers of the group.",
        source="group_status",
        is_source=is_same_time,
    )
    yield Consequence(
        defect=defect,
        table=REPORT_GROUPS,
        columns=_LAG_STARTS,
        why="The report has the beginning of the group's lag.",
        source="group_status",
        is_source=is_before,
        from_columns=dict.fromkeys(_LAG_STARTS, _LAG),
    )


def _follow_rebalances(defect: int, columns: frozenset[str], *, is_whole_row: bool = False) -> Iterator[Expected]:
    """Yield the entries for what follows from the differences of rebalances, in these columns, by a defect."""
    yield Consequence(
        defect=defect,
        table=REPORT_REBALANCES,
        columns=columns,
        is_whole_row=is_whole_row,
        why="The report has the rows of the table.",
        source="rebalances",
        is_source=_is_same_rebalance,
    )
    yield Consequence(
        defect=defect,
        table="group_daily",
        columns=frozenset({"rebalances", "rebalance_ms"}),
        why="A day counts the rows of the table.",
        source="rebalances",
        is_source=is_on_day,
        from_columns={"rebalance_ms": frozenset({"duration_ms", "duration_quality"})},
    )


def _is_same_rebalance(report_row: Row, row: Row) -> bool:
    return is_same_time(report_row, row) and report_row["generation"] == row["generation"]


_LOST: Final = "A lost generation hides who joined."
_REMOVED: Final = "The removal of a group of another type ends the generations before it."
_KINDS: Final = "Share and streams groups have rebalances."
_NEXT_KIND: Final = "The first epoch of a share or streams group ends the rebalance of the group before it."
_DEAD: Final = "A removed share or streams group is Dead."
_OTHER_TOPIC: Final = "A commit has no lag at a log end of another topic id."
_RECREATED: Final = "Commits on the topic before it was recreated are no evidence."
_PAUSE: Final = "The first point of the time index after a pause is kept."
_SHOWN: Final = "A sample that shows the commit of a record counts nothing beside it."
_UNSEEN_JOIN: Final = "A member that was first seen by its assignment was no member before."
_UNSEEN: Final = "A tombstone of a member that was never seen proves nothing about when it joined."

EXPECTED: Final = (
    _expect(36, "group_daily", {"clock_jump_ms"}, "A new column.", predicates.is_new_column),
    _expect(37, "lag_history", (), _OTHER_TOPIC, predicates.is_commit_on_other_topic, is_whole_row=True),
    _expect(37, "lag_history", _CONSUMPTION, _RECREATED, predicates.is_soon_after_topic_change),
    _expect(37, "lag_history", _RATES, _OTHER_TOPIC, predicates.is_soon_after_removed_row),
    _expect(37, "group_daily", {"records_consumed", "skew"}, _RECREATED, predicates.has_topic_change_on_day),
    *_follow_rows(37),
    _expect(39, "rebalances", _MEMBERS | _ENDS, _UNSEEN, predicates.has_unseen_leave_after),
    _expect(39, "group_daily", {"max_members"}, _UNSEEN, predicates.has_unseen_leave_on_day),
    _expect(39, "group_status", {"member_count"}, _UNSEEN, predicates.has_unseen_leave_on_day),
    _expect(39, "rebalances", _MEMBERS | _ENDS, _UNSEEN_JOIN, predicates.has_unseen_join_after),
    _expect(39, "group_daily", {"max_members"}, _UNSEEN_JOIN, predicates.has_unseen_join_from_day_on),
    *_follow_rebalances(39, _ENDS | {"joined", "left"}),
    _expect(38, "rebalances", (), _KINDS, predicates.is_share_or_streams_rebalance, is_whole_row=True),
    _expect(38, "rebalances", _ENDS, _NEXT_KIND, predicates.ends_at_epoch_of_other_kind),
    _expect(38, "group_daily", {"rebalances", "rebalance_ms"}, _KINDS, predicates.has_share_or_streams_until_day),
    _expect(38, "group_status", {"state"}, _DEAD, predicates.is_removed_share_or_streams),
    _expect(38, REPORT_GROUPS, {"rebalances"}, _KINDS, predicates.has_share_or_streams),
    *_follow_rebalances(38, _ENDS | {"joined", "left"}, is_whole_row=True),
    _expect(46, "lag_history", _TIME_LAG, _PAUSE, predicates.has_pause_before),
    *_follow_rows(46),
    _expect(
        47, "group_daily", {"records_consumed", "skew", "last_commit_time"}, _SHOWN, predicates.has_contradicted_sample
    ),
    _expect(44, "rebalances", _CHANGES, _LOST, predicates.is_generation_behind_lost_one),
    _expect(
        44,
        "rebalances",
        {"left", "members_before"},
        _REMOVED,
        predicates.is_generation_behind_removal,
        is_whole_row=True,
    ),
    *_follow_rebalances(44, frozenset({"joined", "left"}), is_whole_row=True),
    _expect(
        44,
        "group_daily",
        {"records_consumed", "skew"},
        "Samples after a day's last record count once.",
        predicates.has_samples_before_records,
    ),
    _expect(
        44,
        "group_daily",
        {"last_retention_margin", "retention_left_ms"},
        "A removed commit has no last margin.",
        predicates.has_removal_on_day,
    ),
    _expect(
        44,
        REPORT_FINDINGS,
        {"message"},
        "Sentences on idle groups and on lost records were reworded.",
        predicates.is_reworded_finding,
    ),
    _expect(
        44,
        REPORT_DOCUMENT,
        {"missing"},
        "Two sentences on missing data were reworded.",
        predicates.is_reworded_document,
    ),
)
