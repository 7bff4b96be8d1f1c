"""What readers and later runs see of a compaction that is under way, or was killed."""

from __future__ import annotations

import datetime as dt
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafka_groups.pipeline.store import Storage, open_storage, parquet_sorting
from kafka_groups.pipeline.store.compaction import compact
from tests.pipeline.fact_rows import new_storage
from tests.pipeline.store.commits import append, append_at_once, commits, places, seen
from tests.pipeline.store.conftest import KilledError
from tests.pipeline.store.watching import watched

pytestmark = pytest.mark.slow
NOW = dt.datetime(2026, 11, 20, tzinfo=dt.UTC)


def test_a_reader_sees_each_row_once_during_a_compaction(storage: Storage) -> None:
    parts = [range(number * 2, number * 2 + 2) for number in range(24)]
    append_at_once(storage, {f"w-{part[0]:08}": [commits(part, day=part[0] % 3)] for part in parts})
    with watched(storage, range(48)) as looks:
        for target in (4, 8, 16, 100):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(parquet_sorting, "ROWS_AT_ONCE", target)
                compact(storage, now=NOW)
    assert not looks.wrong
    assert looks.number > 3
    assert len(places(storage)) == 3


def test_a_killed_compaction_leaves_each_row_once(tmp_path: Path, kill_at: Callable[[int], None]) -> None:
    ingested = new_storage(tmp_path / "ingested")
    batches = {f"w-{number:08}": [commits([number]), commits([number + 10], day=1)] for number in range(4)}
    append_at_once(ingested, batches)
    everything = Counter([*range(4), *range(10, 14)])
    steps = 0
    killed = True
    while killed:
        # Paths in the tables are relative, and copies cost a tenth of what the same ingests cost again.
        storage = open_storage(str(shutil.copytree(ingested.location, tmp_path / str(steps))))
        kill_at(steps)
        try:
            compact(storage, now=NOW)
            killed = False
        except KilledError:
            kill_at(-1)
        kill_at(-1)
        assert seen(storage) == everything
        compact(storage, now=NOW)
        assert seen(storage) == everything
        assert len(places(storage)) == 2
        steps += 1
    assert steps > 8


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    script=st.lists(
        st.one_of(
            st.tuples(st.sampled_from(["ingest", "backfill"]), st.sets(st.integers(0, 2), max_size=3)),
            st.tuples(st.just("compact"), st.just(set[int]())),
        ),
        max_size=12,
    )
)
def test_no_order_of_batches_and_compactions_loses_or_repeats_a_row(
    tmp_path_factory: pytest.TempPathFactory, script: list[tuple[str, set[int]]]
) -> None:
    storage = new_storage(tmp_path_factory.mktemp("script"))
    expected = Counter[int]()
    for number, (action, days) in enumerate(script):
        if action == "compact":
            compact(storage, now=NOW)
        else:
            rows = {day: [100 * number + 10 * day, 100 * number + 10 * day + 1] for day in days}
            append(storage, f"{action}-{number}", *(commits(found, day=day) for day, found in rows.items()))
            expected.update(one for found in rows.values() for one in found)
        assert seen(storage) == expected
