"""Which facts a build takes for those of the last one, though they lie in other files. No Spark is needed to tell."""

from __future__ import annotations

import shutil
from datetime import date, timedelta
from pathlib import Path

import pytest

from kafka_groups.pipeline.building.changes import date_before, dates_to_build, save_state, state_of
from kafka_groups.pipeline.compacting import compact
from kafka_groups.pipeline.storage import Storage
from kafka_groups.pipeline.tables import LAG_HISTORY
from kafka_groups.verdicts import Rules
from tests.pipeline.fact_rows import NOON, commit, event, new_storage, put_all

_LOOKBACK_DAYS = 7


@pytest.fixture
def built(tmp_path: Path) -> Storage:
    """Two batches of a row each, from which a build was made."""
    storage = new_storage(tmp_path)
    for number in (1, 2):
        put_all(storage, f"b{number}", {"offset_commits": [commit(number, number, source=number)]})
    save_state(storage, state_of(storage, Rules(), _LOOKBACK_DAYS))
    return storage


def dates_of(storage: Storage) -> list[str]:
    found = dates_to_build(storage, state_of(storage, Rules(), _LOOKBACK_DAYS))
    return [day.isoformat() for day in found]


def join_files(storage: Storage) -> None:
    assert compact(storage, now=NOON + timedelta(days=9)).files_after == 1


def test_rows_that_a_compaction_put_into_one_file_make_nothing_anew(built: Storage) -> None:
    join_files(built)

    assert dates_of(built) == []


@pytest.mark.parametrize(
    "other",
    [commit(2, 3, source=2), commit(2, 2, source=3), commit(3, 2, source=2), commit(2, None, source=2)],
    ids=["offset", "place", "time", "removal"],
)
def test_as_many_rows_that_say_something_else_make_their_date_anew_also_if_files_were_joined_since(
    built: Storage, other: dict[str, object]
) -> None:
    put_all(built, "b2", {"offset_commits": [other]})
    join_files(built)

    assert dates_of(built) == ["2026-11-20"]


def make_derived(storage: Storage, *dates: str) -> None:
    """Rows of a derived table, as a build leaves them."""
    for day in dates:
        batch = Path(storage.into, LAG_HISTORY.name, f"date={day}", "batch=build")
        batch.mkdir(parents=True)
        (batch / "part-0.parquet").touch()
    save_state(storage, state_of(storage, Rules(), _LOOKBACK_DAYS))


def test_a_date_that_a_derived_table_lost_is_made_anew_with_all_after_it(built: Storage) -> None:
    make_derived(built, "2026-11-20")
    assert dates_of(built) == []
    shutil.rmtree(Path(built.into, LAG_HISTORY.name))

    assert dates_of(built) == ["2026-11-20"]


def test_what_retention_removed_is_not_lost(built: Storage) -> None:
    make_derived(built, "2026-11-10", "2026-11-20")
    done = compact(built, keep=timedelta(days=8), now=NOON)

    assert done.removed == (("lag_history", "2026-11-10"),)
    assert dates_of(built) == []
    compact(built, keep=timedelta(days=90), now=NOON)
    assert dates_of(built) == []


@pytest.mark.parametrize(
    "note",
    [
        {"facts": 3, "settings": 1},
        {"facts": {"2026-11-20": 1}},
        {"facts": {"2026-11-20": {"group_events": {}}}},
        {"facts": {"2026-11-20": {"offset_commits": {"batches": [], "rows": 2, "columns": {}}}}},
    ],
)
def test_a_note_that_is_none_of_ours_has_all_made_anew(built: Storage, note: dict[str, object]) -> None:
    built.save_note("build", note)

    assert dates_of(built) == ["2026-11-20"]


@pytest.mark.parametrize("made", [{"lag_history": None}, {"lag_history": [5]}, {"a newer one": ["2026-11-20"]}])
def test_an_odd_list_of_what_was_made_is_no_fault(built: Storage, made: dict[str, object]) -> None:
    built.save_note("build", {**built.note("build"), "made": made})
    built.save_note("retention", {"first_date": None})

    assert dates_of(built) == []


def test_the_day_before_is_not_made_anew_once_retention_has_thinned_it(built: Storage) -> None:
    def before() -> list[date]:
        return date_before(state_of(built, Rules(), _LOOKBACK_DAYS), [NOON.date()])

    member = event(0, "generation", "GroupMetadata", source=9, epoch=1, members=[{"member_id": "m"}])
    put_all(built, "b3", {"group_events": [member]})
    assert before() == [NOON.date() - timedelta(days=1)]

    compact(built, keep=timedelta(days=8), now=NOON + timedelta(days=8))
    assert before() == []


def test_what_retention_left_of_old_dates_counts_as_read(built: Storage) -> None:
    members = [
        event(0, "member_metadata", "ConsumerGroupMemberMetadata", source=at, group="kip", member_id=f"m{at}")
        for at in range(9, 12)
    ]
    put_all(built, "b3", {"group_events": members})
    put_all(built, "b4", {"group_events": [event(20 * 86_400, "group_epoch", "ConsumerGroupMetadata", source=20)]})
    later = NOON.date() + timedelta(days=20)
    compact(built, keep=timedelta(days=8), now=NOON + timedelta(days=20))

    state = state_of(built, Rules(), _LOOKBACK_DAYS)
    assert state.rows_until([later], _LOOKBACK_DAYS) == 1 + 3
    assert state.rows_until([NOON.date() - timedelta(days=1)], _LOOKBACK_DAYS) == 0


def test_a_directory_that_is_no_date_is_none_of_ours(built: Storage) -> None:
    for odd in ("2026-02-30", "2026-13-45"):
        Path(built.into, "offset_commits", f"date={odd}").mkdir()

    assert compact(built, keep=timedelta(days=8), now=NOON + timedelta(days=30)).removed == ()
    assert dates_of(built) == []
