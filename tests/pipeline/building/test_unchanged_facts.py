"""Which facts a build takes for those of the last one, though they lie in other files. No Spark is needed to tell."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from kafka_groups.pipeline.building.changes import dates_to_build, save_state, state_of
from kafka_groups.pipeline.compacting import compact
from kafka_groups.pipeline.storage import Storage
from kafka_groups.verdicts import Rules
from tests.pipeline.steps.making import NOON, commit, new_storage, put_all

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
