"""Which dates are built: a rebalance has the date of its earliest begin, and that date may have no facts of its own."""

from __future__ import annotations

from pathlib import Path

from kafka_groups.pipeline.store import Storage
from tests.pipeline.build.builds import build_here, built, read
from tests.pipeline.fact_rows import Row, at, commit, ends, event, new_storage, put_all
from tests.pipeline.proof import DERIVED

DAY = 86_400
JUST_AFTER_MIDNIGHT = DAY / 2 + 60


def generation(seconds: float, number: int, *, source: int) -> Row:
    """Return a generation whose one member may have waited for five minutes."""
    member = {"member_id": f"m{number}", "rebalance_timeout_ms": 300_000}
    details = {"epoch": number, "members": [member], "state_time": at(seconds - 1)}
    return event(seconds, "generation", "GroupMetadata", source=source, **details)


def begun(storage: Storage) -> list[tuple[int, str]]:
    """Return generations and when they began at the earliest."""
    rows = sorted(read(storage, "rebalances"), key=lambda row: int(row["generation"]))
    return [(row["generation"], f"{row['started_at']:%d %H:%M:%S}") for row in rows]


def test_a_rebalance_may_begin_on_a_day_before_that_has_no_facts(
    tmp_path: Path,
) -> None:
    storage = new_storage(tmp_path)
    put_all(storage, "first", {"group_events": [generation(JUST_AFTER_MIDNIGHT, 1, source=1)]})

    first = build_here(storage)

    assert [str(day) for day in first.dates] == ["2026-11-20", "2026-11-21"]
    assert begun(storage) == [(1, "20 23:55:58")]
    assert build_here(storage).dates == ()


def test_a_day_without_facts_has_the_same_rows_at_once_and_day_by_day(tmp_path: Path) -> None:
    early = {
        "group_events": [generation(0, 1, source=1)],
        "offset_commits": [commit(0, 5, source=2)],
        "partition_offsets": [ends(60, 9)],
    }
    late = {"group_events": [generation(DAY + JUST_AFTER_MIDNIGHT, 2, source=3)]}
    by_day = built(tmp_path / "by day", early)
    put_all(by_day, "late", late)
    build_here(by_day)
    at_once = new_storage(tmp_path / "at once")
    for batch, facts in (("early", early), ("late", late)):
        put_all(at_once, batch, facts)
    build_here(at_once)

    assert begun(at_once) == [(1, "20 11:54:58"), (2, "21 23:55:58")]
    for name in DERIVED:
        assert read(by_day, name) == read(at_once, name)
    assert len(read(at_once, "lag_history")) == 1


def test_rebalances_are_unknown_on_a_day_without_any_record(tmp_path: Path) -> None:
    """Samples alone show the groups on the day before. A rebalance of one may have begun on it, and did not."""
    early = {
        "offset_commits": [commit(0, 5), commit(0, 5, group="other")],
        "partition_offsets": [ends(60, 9)],
    }
    late = {"group_events": [generation(JUST_AFTER_MIDNIGHT, 1, source=1)]}
    # The generation before was written on the same day, so this one cannot have begun earlier.
    later = {"group_events": [generation(JUST_AFTER_MIDNIGHT - 50, 0, source=0)]}
    by_day = built(tmp_path / "by day", early)
    for batch, facts in (("late", late), ("later", later)):
        put_all(by_day, batch, facts)
        build_here(by_day)
    at_once = new_storage(tmp_path / "at once")
    for batch, facts in (("early", early), ("late", late), ("later", later)):
        put_all(at_once, batch, facts)
    build_here(at_once)

    def counted(storage: Storage) -> list[tuple[object, ...]]:
        rows = read(storage, "group_daily")
        return [(row["group"], row["date"].day, row["rebalances"], row["rebalance_ms"]) for row in rows]

    assert counted(at_once) == [
        ("g", 20, None, None),
        ("g", 21, 1, 50_000),
        ("other", 20, None, None),
        ("other", 21, 0, 0),
    ]
    assert counted(by_day) == counted(at_once)


def test_members_are_known_after_a_gap_longer_than_the_lookback(
    tmp_path: Path,
) -> None:
    """In the gap the states of partitions end, those of groups do not: both tables have other dates then."""
    member = {"epoch": 1, "members": [{"member_id": "m"}]}
    first = {
        "offset_commits": [commit(0, 5, source=1)],
        "partition_offsets": [ends(60, 9)],
        "group_events": [event(0, "generation", "GroupMetadata", source=2, **member)],
    }
    later = [
        {"group_events": [event(day * DAY, "generation", "GroupMetadata", source=day, group="h", **member)]}
        for day in (10, 20)
    ]
    late = {"offset_commits": [commit(5 * DAY, 6, source=3)]}
    by_day, at_once = new_storage(tmp_path / "by day"), new_storage(tmp_path / "at once")
    for number, facts in enumerate((first, *later, late)):
        for storage in (by_day, at_once):
            put_all(storage, f"b{number}", facts)
        build_here(by_day)
    build_here(at_once)

    members = [(row["date"].day, row["max_members"]) for row in read(by_day, "group_daily")]
    assert members == [(20, 1), (25, 1), (30, 1)]
    for name in DERIVED:
        assert read(by_day, name) == read(at_once, name)
