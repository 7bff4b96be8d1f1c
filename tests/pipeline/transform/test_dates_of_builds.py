"""Which dates are built: a rebalance has the date of its earliest begin, and that date may have no facts of its own."""

from __future__ import annotations

from pathlib import Path

from kafka_groups.pipeline.storage import Storage
from tests.pipeline.fact_rows import Row, at, commit, ends, event, new_storage, put_all
from tests.pipeline.proof import DERIVED
from tests.pipeline.transform.builds import build_here, built, read

DAY = 86_400
JUST_AFTER_MIDNIGHT = DAY / 2 + 60


def generation(seconds: float, number: int, *, source: int) -> Row:
    """A generation whose one member may have waited for five minutes."""
    member = {"member_id": f"m{number}", "rebalance_timeout_ms": 300_000}
    details = {"epoch": number, "members": [member], "state_time": at(seconds - 1)}
    return event(seconds, "generation", "GroupMetadata", source=source, **details)


def begun(storage: Storage) -> list[tuple[int, str]]:
    """Generations and when they began at the earliest."""
    rows = sorted(read(storage, "rebalances"), key=lambda row: int(row["generation"]))
    return [(row["generation"], f"{row['started_at']:%d %H:%M:%S}") for row in rows]


def test_a_rebalance_that_may_have_begun_on_the_day_before_is_there_though_that_day_has_no_facts(
    tmp_path: Path,
) -> None:
    storage = new_storage(tmp_path)
    put_all(storage, "first", {"group_events": [generation(JUST_AFTER_MIDNIGHT, 1, source=1)]})

    first = build_here(storage)

    assert [str(day) for day in first.dates] == ["2026-11-20", "2026-11-21"]
    assert begun(storage) == [(1, "20 23:55:58")]
    assert build_here(storage).dates == ()


def test_a_day_without_facts_between_two_has_the_same_rows_at_once_and_day_by_day(tmp_path: Path) -> None:
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
