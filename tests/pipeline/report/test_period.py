"""Which groups a report is about: as in `list` and `describe`, whatever is in the patterns."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable

import pytest

from kafka_groups.groups.selection import Selectors
from kafka_groups.pipeline.commands.report_request import choose_groups
from kafka_groups.pipeline.report.history_reader import select_groups
from kafka_groups.pipeline.report.period import GroupKey, Period, PeriodTables
from kafka_groups.pipeline.store import Storage
from kafka_groups.pipeline.tables import OFFSET_COMMITS
from tests.pipeline.fact_rows import commit, put_all

ODD = (
    "",
    "it's",
    "back\\slash\\'",
    "a\nb",
    "größe-日本",
    "${spark.app.name}",
    "x--y",
    "100%",
    "`tick`",
    '"q"',
    "{rows}",
    "'{rows}'",
    "\0",
)

SELECT_GROUPS = 'SELECT cluster_id, "group" FROM period_rows'


def wanted(*named: str, match: str | None = None, exclude: str | None = None) -> Selectors:
    """Return the selectors that a command makes of its options."""
    patterns = [None if pattern is None else re.compile(pattern) for pattern in (match, exclude)]
    return select_groups(*choose_groups(Selectors(named=named, match=patterns[0], exclude=patterns[1])))


@pytest.mark.parametrize(
    ("asked", "has", "lacks"),
    [
        (wanted(), ["a", "b"], []),
        (wanted("a"), ["a"], ["b"]),
        (wanted(match="a."), ["ab"], ["a", "b"]),
        (wanted("b", match="a."), ["ab", "b"], ["a"]),
        (wanted(exclude="(?i)test-.*"), ["a", "a test-b"], ["Test-a", "test-"]),
        (wanted(match="(?i)bill.*", exclude="bill"), ["Billing"], ["bill", "a"]),
        (wanted(match=r"(a)\1", exclude="(b).*"), ["aa"], ["ab", "b"]),
        (wanted(exclude="b"), ["a", "bc"], ["b"]),
        (wanted("a", "b", exclude="b"), ["a"], ["b", "c"]),
        (wanted("b", exclude="b"), [], ["a", "b"]),
        (wanted("b", match="a", exclude="b"), ["a"], ["b", "c"]),
    ],
)
def test_a_group_is_chosen_by_its_whole_id_and_may_be_excluded(
    asked: Selectors, has: list[str], lacks: list[str]
) -> None:
    assert [name for name in (*has, *lacks) if asked.selects(name)] == has


def test_a_selection_that_excludes_some_is_not_all() -> None:
    assert [
        wanted().selects_all(),
        wanted(exclude="x").selects_all(),
        wanted("a").selects_all(),
        wanted(match=".*").selects_all(),
    ] == [
        True,
        False,
        False,
        False,
    ]


def test_groups_are_those_of_their_cluster_whatever_is_in_their_names(storage: Storage) -> None:
    put_all(
        storage,
        "b",
        {"offset_commits": [commit(0, 1, group=name) | {"cluster_id": cluster} for cluster in "ab" for name in ODD]},
    )
    tables = PeriodTables(storage, Period(0, 4_000_000_000_000))

    def found(keys: Iterable[GroupKey]) -> list[GroupKey]:
        return tables.select_groups(GroupKey, OFFSET_COMMITS, f"{SELECT_GROUPS} ORDER BY 1, 2", list(keys))

    for name in ODD:
        assert found([GroupKey("a", name)]) == [("a", name)]
    assert sorted(found(GroupKey("b", name) for name in ODD)) == sorted(("b", name) for name in ODD)
    assert found([]) == []


def test_very_many_groups_are_selected_in_seconds(storage: Storage) -> None:
    put_all(storage, "b", {"offset_commits": [commit(0, 1, group=name) for name in ("group-7", "other")]})
    keys = [GroupKey("c", f"group-{number}") for number in range(60_000)]
    begun = time.process_time()
    tables = PeriodTables(storage, Period(0, 4_000_000_000_000))
    assert tables.select_groups(GroupKey, OFFSET_COMMITS, SELECT_GROUPS, keys) == [("c", "group-7")]
    assert time.process_time() - begun < 5
