"""Which facts a build takes for those of the last one, though they are in other files, and which dates it builds."""

from __future__ import annotations

import shutil
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import get_type_hints

import pytest

from kafka_groups.pipeline.build import fact_state
from kafka_groups.pipeline.build.build_plan import LOOKBACK_DAYS, estimate_facts
from kafka_groups.pipeline.build.fact_state import FactState, read_last_limits
from kafka_groups.pipeline.build.packing import fingerprint_frames
from kafka_groups.pipeline.build.partition_state import STATE_FRAMES, KeyState, LogState
from kafka_groups.pipeline.store import Storage
from kafka_groups.pipeline.store.compaction import compact
from kafka_groups.pipeline.store.retention import uniform_retention
from kafka_groups.pipeline.tables import GROUP_STATE, LAG_HISTORY, PARTITION_STATE, Table
from kafka_groups.verdicts import Limits
from tests.pipeline.build.builds import build_here
from tests.pipeline.fact_rows import NOON, at, commit, event, new_storage, put_all
from tests.pipeline.store.commits import rows_of, written


@pytest.fixture
def built(tmp_path: Path) -> Storage:
    """Two batches of a row each, and the metadata of a build of them."""
    storage = new_storage(tmp_path)
    for number in (1, 2):
        put_all(storage, f"b{number}", {"offset_commits": [commit(number, number, source=number)]})
    state_of(storage).save(storage)
    return storage


def state_of(storage: Storage) -> FactState:
    return FactState(storage, Limits(), LOOKBACK_DAYS)


def dates_of(storage: Storage) -> list[str]:
    return [day.isoformat() for day in state_of(storage).dates_to_build()]


def join_files(storage: Storage) -> None:
    assert compact(storage, now=NOON + timedelta(days=9)).files_after == 1


def test_rows_that_a_compaction_joined_to_one_file_cause_no_build(built: Storage) -> None:
    join_files(built)

    assert dates_of(built) == []


@pytest.mark.parametrize(
    "other",
    [commit(2, 3, source=2), commit(2, 2, source=3), commit(3, 2, source=2), commit(2, None, source=2)],
    ids=["offset", "place", "time", "removal"],
)
def test_changed_values_cause_a_build_even_after_files_were_joined(built: Storage, other: dict[str, object]) -> None:
    put_all(built, "b2", {"offset_commits": [other]})
    join_files(built)

    assert dates_of(built) == ["2026-11-20"]


def make_derived(storage: Storage, *dates: str) -> None:
    """Write rows of a derived table, as a build does."""
    for day in map(date.fromisoformat, dates):
        noon = datetime(day.year, day.month, day.day, 12, tzinfo=UTC)
        rows = rows_of(LAG_HISTORY, [{"cluster_id": "c", "group": "g", "observed_at": noon}])
        storage.replace(LAG_HISTORY, [day.isoformat()], written(storage, rows, table=LAG_HISTORY))
    state_of(storage).save(storage)


def test_a_date_that_a_derived_table_lost_is_built_again(built: Storage) -> None:
    make_derived(built, "2026-11-20")
    assert dates_of(built) == []
    shutil.rmtree(Path(built.location, LAG_HISTORY.name))

    assert dates_of(built) == ["2026-11-20"]


@pytest.mark.parametrize("table", [PARTITION_STATE, GROUP_STATE], ids=lambda table: table.name)
def test_a_state_that_was_removed_is_made_again_with_its_date(tmp_path: Path, table: Table) -> None:
    storage = new_storage(tmp_path)
    member = event(0, "generation", "GroupMetadata", source=9, epoch=1, members=[{"member_id": "m"}])
    put_all(storage, "b", {"offset_commits": [commit(1, 1, source=1)], "group_events": [member]})
    build_here(storage)
    assert dates_of(storage) == []
    shutil.rmtree(Path(storage.location, table.name))

    assert dates_of(storage) == ["2026-11-20"]


def test_dates_that_retention_removed_are_not_built_again(built: Storage) -> None:
    make_derived(built, "2026-11-10", "2026-11-20")
    done = compact(built, retention=uniform_retention(timedelta(days=8)), now=NOON)

    assert done.removed_table_dates == (("lag_history", "2026-11-10"),)
    assert dates_of(built) == []
    compact(built, retention=uniform_retention(timedelta(days=90)), now=NOON)
    assert dates_of(built) == []


def test_the_day_before_is_not_built_again_after_retention_thinned_it(tmp_path: Path) -> None:
    """Its rebalance may have begun before midnight."""
    member = {"member_id": "m", "rebalance_timeout_ms": 300_000}
    midnight = -12 * 3_600
    details = {"epoch": 1, "members": [member], "state_time": at(midnight + 59)}
    generation = event(midnight + 60, "generation", "GroupMetadata", source=9, **details)
    yesterday, today = NOON.date() - timedelta(days=1), NOON.date()

    def dates_after(storage: Storage) -> tuple[date, ...]:
        put_all(storage, "b", {"group_events": [generation]})
        return build_here(storage).dates

    kept, thinned = (new_storage(tmp_path / name) for name in ("kept", "thinned"))
    assert dates_after(kept) == (yesterday, today)

    compact(thinned, retention=uniform_retention(timedelta(days=8)), now=NOON + timedelta(days=8))
    assert dates_after(thinned) == (today,)


def test_records_that_retention_left_of_old_dates_are_counted(built: Storage) -> None:
    members = [
        event(0, "member_metadata", "ConsumerGroupMemberMetadata", source=number, group="kip", member_id=f"m{number}")
        for number in range(9, 12)
    ]
    epoch, later = 20 * 86_400, NOON.date() + timedelta(days=20)
    put_all(built, "b3", {"group_events": members})
    put_all(built, "b4", {"group_events": [event(epoch, "group_epoch", "ConsumerGroupMetadata", source=20)]})
    compact(built, retention=uniform_retention(timedelta(days=8)), now=NOON + timedelta(days=20))

    assert dates_of(built) == [later.isoformat()]
    # Beside the three members there are the commits of the fixture: the newest date of a table is kept. There is no
    # state of the old date until a build made one.
    assert estimate_facts(built) == 1 + 3 + 2
    build_here(built)
    assert estimate_facts(built) == 0
    put_all(built, "b5", {"group_events": [event(epoch + 1, "group_epoch", "ConsumerGroupMetadata", source=21)]})
    # The state before days without facts is kept, however old it is.
    assert estimate_facts(built) == 2
    # With other settings all dates are read.
    assert estimate_facts(built, lookback_days=8) == 2 + 3 + 2


def test_a_directory_whose_name_is_no_date_is_passed_over(built: Storage) -> None:
    for odd in ("2026-02-30", "2026-13-45"):
        Path(built.location, "offset_commits", f"date={odd}").mkdir()

    assert (
        compact(
            built, retention=uniform_retention(timedelta(days=8)), now=NOON + timedelta(days=30)
        ).removed_table_dates
        == ()
    )
    assert dates_of(built) == []


def test_after_a_build_with_other_columns_no_state_is_read(built: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    assert fingerprint_frames(STATE_FRAMES[1:]) != fingerprint_frames(STATE_FRAMES)
    assert state_of(built).has_last_build
    monkeypatch.setattr(fact_state, "_VERSION", f"16 {fingerprint_frames(STATE_FRAMES[1:])}")

    assert not state_of(built).has_last_build
    assert dates_of(built) == ["2026-11-20"]
    assert read_last_limits(built) is None


def test_the_recorded_version_covers_all_frames_that_are_stored() -> None:
    in_states = {*get_type_hints(LogState).values(), *get_type_hints(KeyState).values()}
    assert in_states == {*STATE_FRAMES}
    assert fact_state._VERSION.endswith(fingerprint_frames(fact_state._STORED_FRAMES))
    assert {*fact_state._STORED_FRAMES} == in_states | {table.frame for table in fact_state._WRITTEN_TABLES}
