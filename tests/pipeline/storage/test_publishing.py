from __future__ import annotations

import datetime as dt
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.storage import Storage
from kafka_groups.pipeline.storage.staging import StagedWriter
from kafka_groups.pipeline.tables import INGEST_GAPS, OFFSET_COMMITS
from tests.pipeline.storage.commits import FIRST, commits, names, places, rows_of, seen, staged
from tests.pipeline.storage.conftest import KilledError
from tests.pipeline.storage.watching import watched


def gap(day: int) -> list[dict[str, object]]:
    return [{"cluster_id": "here", "source_partition": 1, "from_offset": 5, "found_at": FIRST + dt.timedelta(days=day)}]


def test_a_batch_stands_in_its_dates(storage: Storage) -> None:
    storage.publish("w-00000001", staged(storage, commits(range(3)), commits(range(3, 5), day=1)))
    assert places(storage) == [("2026-11-01", "w-00000001"), ("2026-11-02", "w-00000001")]
    assert seen(storage) == Counter(range(5))
    (first, *_) = storage.batches(OFFSET_COMMITS)
    assert first.files == 1
    assert first.bytes > 500


def test_nothing_is_left_in_staging(storage: Storage) -> None:
    storage.publish("w-00000001", staged(storage, commits(range(3))))
    storage.append(OFFSET_COMMITS, "sample-x", commits([8]))
    assert names(Path(storage.into, ".staging")) == []


def test_a_repeat_takes_the_place_of_the_attempt_before(storage: Storage) -> None:
    storage.publish("w-00000001", staged(storage, commits([1, 2]), commits([3], day=1)))
    storage.publish("w-00000002", staged(storage, commits([9])))
    storage.publish("w-00000001", staged(storage, commits([1, 2, 4])))
    assert seen(storage) == Counter([1, 2, 4, 9])
    assert places(storage) == [("2026-11-01", "w-00000001"), ("2026-11-01", "w-00000002")]


def test_what_an_attempt_wrote_to_another_table_or_date_goes(storage: Storage) -> None:
    gaps = staged(storage, rows_of(INGEST_GAPS, gap(0)), table=INGEST_GAPS)
    storage.publish("w-00000001", [*gaps, *staged(storage, commits([1]))])
    storage.publish("w-00000001", staged(storage, rows_of(INGEST_GAPS, gap(1)), table=INGEST_GAPS))
    assert places(storage, INGEST_GAPS) == [("2026-11-02", "w-00000001")]
    assert places(storage) == []


def test_a_batch_without_rows_empties_the_attempt_before(storage: Storage) -> None:
    storage.publish("w-00000001", staged(storage, commits([1])))
    storage.publish("w-00000001", [])
    assert places(storage) == []


def test_samples_append_table_by_table_under_one_name(storage: Storage) -> None:
    storage.append(OFFSET_COMMITS, "sample-20261101T120000", commits([1]))
    storage.append(INGEST_GAPS, "sample-20261101T120000", rows_of(INGEST_GAPS, gap(0)))
    storage.append(INGEST_GAPS, "sample-20261101T120000", rows_of(INGEST_GAPS, gap(0)))
    assert seen(storage) == Counter([1])
    assert storage.batches(INGEST_GAPS)[0].files == 1


def test_a_file_that_is_gone_stops_the_batch_before_it_begins(storage: Storage) -> None:
    storage.publish("w-00000001", staged(storage, commits([1])))
    files = staged(storage, commits([2]), commits([3], day=1))
    Path(files[1].path).unlink()
    with pytest.raises(StorageError, match="was deleted before its batch was published"):
        storage.publish("w-00000001", files)
    assert seen(storage) == Counter([1])


def test_a_stage_for_many_batches_lasts_while_there_is_something_in_it(storage: Storage) -> None:
    stage = storage.stage()
    files = []
    for number in range(2):
        writer = StagedWriter(stage)
        writer.write(OFFSET_COMMITS, commits([number]).to_batches()[0])
        files.append(writer.close())
    for number in range(2):
        storage.publish(f"w-{number:08}", files[number])
    assert seen(storage) == Counter([0, 1])
    assert not Path(stage).exists()


@pytest.mark.parametrize("name", ["", "..", "a/b", ".hidden", "_hidden", "ä", "x" * 200, "a=b"])
def test_a_name_that_cannot_be_a_directory_is_a_programmers_error(storage: Storage, name: str) -> None:
    with pytest.raises(ValueError, match="cannot be a name"):
        storage.publish(name, [])


def test_killed_at_any_step_a_repeat_makes_it_right(storage: Storage, kill_at: Callable[[int], None]) -> None:
    storage.publish("w-00000001", staged(storage, commits(range(3))))
    kinds = (commits([10, 11]), commits([12], day=1), commits([13], day=2))
    steps = 0
    killed = True
    while killed:
        storage.publish("w-00000002", staged(storage, *kinds[:2]))
        again = staged(storage, kinds[0], kinds[2])
        kill_at(steps)
        try:
            storage.publish("w-00000002", again)
            killed = False
        except KilledError:
            kill_at(-1)
        assert max(seen(storage).values()) == 1
        assert set(seen(storage)) >= {0, 1, 2}
        kill_at(-1)
        storage.publish("w-00000002", staged(storage, kinds[0], kinds[2]))
        assert seen(storage) == Counter([0, 1, 2, 10, 11, 13])
        steps += 1
    assert steps > 6
    storage.clean_staging(0)
    assert names(Path(storage.into, ".staging")) == []


def test_staging_that_is_in_use_is_not_cleaned(storage: Storage) -> None:
    files = staged(storage, commits([1]))
    stage = Path(files[0].path).parent
    old = Path(files[0].path).stat().st_mtime - 7200
    os.utime(stage, (old, old))
    storage.clean_staging(3600)
    assert Path(files[0].path).is_file()  # the directory is old, a file in it is not
    os.utime(files[0].path, (old, old))
    storage.clean_staging(3600)
    assert not stage.exists()


def test_a_reader_sees_each_repeat_whole(storage: Storage) -> None:
    storage.publish("w-00000001", staged(storage, commits(range(50))))
    with watched(storage, range(50)) as looks:
        for _ in range(30):
            storage.publish("w-00000001", staged(storage, commits(range(25)), commits(range(25, 50))))
    assert not looks.wrong
    assert looks.number > 5
