"""What readers and later runs see of a compaction that is under way, or was killed."""

from __future__ import annotations

import datetime as dt
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafka_groups.pipeline.maintenance import compact
from kafka_groups.pipeline.storage import Storage, compaction, open_storage
from tests.pipeline.storage.commits import append, commits, places, seen
from tests.pipeline.storage.conftest import KilledError
from tests.pipeline.storage.watching import watched

if TYPE_CHECKING:
    import pyarrow as pa

pytestmark = pytest.mark.slow
NOW = dt.datetime(2026, 11, 20, tzinfo=dt.UTC)


def ingest(storage: Storage, number: int, *tables: pa.Table, writer: str = "w") -> None:
    append(storage, f"{writer}-{number:08}", *tables)


def test_a_reader_sees_every_row_once_at_every_moment(storage: Storage) -> None:
    for number in range(60):
        ingest(storage, number, commits(range(number * 2, number * 2 + 2), day=number % 3))
    with watched(storage, range(120)) as looks:
        for target in (4, 8, 16, 32, 64, 200):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(compaction, "ROWS_AT_ONCE", target)
                compact(storage, now=NOW)
    assert not looks.wrong
    assert looks.number > 3
    assert len(places(storage)) == 3


def test_killed_at_any_step_every_row_is_there_once(tmp_path: Path, kill_at: Callable[[int], None]) -> None:
    ingested = open_storage(str(tmp_path / "ingested"), create=True)
    for number in range(4):
        ingest(ingested, number, commits([number]), commits([number + 10], day=1))
    everything = Counter([*range(4), *range(10, 14)])
    steps = 0
    killed = True
    while killed:
        # Paths in the tables are relative, and copies cost a tenth of what the same ingests cost again.
        storage = open_storage(str(shutil.copytree(ingested.into, tmp_path / str(steps))))
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
def test_no_order_of_batches_and_compactions_loses_or_doubles_a_row(
    tmp_path_factory: pytest.TempPathFactory, script: list[tuple[str, set[int]]]
) -> None:
    storage = open_storage(str(tmp_path_factory.mktemp("script")), create=True)
    expected = Counter[int]()
    for number, (action, days) in enumerate(script):
        if action == "compact":
            compact(storage, now=NOW)
        else:
            rows = {day: [100 * number + 10 * day, 100 * number + 10 * day + 1] for day in days}
            append(storage, f"{action}-{number}", *(commits(found, day=day) for day, found in rows.items()))
            expected.update(one for found in rows.values() for one in found)
        assert seen(storage) == expected
