from __future__ import annotations

import datetime as dt
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from pyarrow.fs import LocalFileSystem

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.storage import Storage, open_storage
from kafka_groups.pipeline.storage import places as places_module
from kafka_groups.pipeline.storage.marker import write_marker
from kafka_groups.pipeline.storage.parquet import ParquetFormat
from kafka_groups.pipeline.storage.places import Place
from kafka_groups.pipeline.storage.staging import StagedWriter
from kafka_groups.pipeline.tables import INGEST_GAPS, OFFSET_COMMITS
from tests.pipeline.storage.commits import FIRST, commits, names, places, rows_of, seen, staged
from tests.pipeline.storage.conftest import KilledError
from tests.pipeline.storage.watching import watched


@pytest.fixture(params=["exchange", "no exchange", "delta", "elsewhere"])
def any_storage(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Storage:
    """A local directory, one whose file system cannot exchange, Delta tables, and what is treated like a far store."""
    if request.param == "delta":
        return open_storage(str(tmp_path / "history"), create=True, table_format="delta")
    if request.param == "no exchange":
        monkeypatch.setattr(places_module, "exchange", lambda *_: False)
    root = str(tmp_path / "history")
    place = Place(root, LocalFileSystem(), root, local=request.param != "elsewhere")
    write_marker(place, "parquet")
    return Storage(place, ParquetFormat(place))


def gap(day: int) -> list[dict[str, object]]:
    return [{"cluster_id": "here", "source_partition": 1, "from_offset": 5, "found_at": FIRST + dt.timedelta(days=day)}]


def test_a_batch_stands_in_a_directory_a_date(any_storage: Storage) -> None:
    any_storage.publish("w-00000001", staged(any_storage, commits(range(3)), commits(range(3, 5), day=1)))
    assert places(any_storage) == [("2026-11-01", "w-00000001"), ("2026-11-02", "w-00000001")]
    assert seen(any_storage) == Counter(range(5))
    (first, *_) = any_storage.batches(OFFSET_COMMITS)
    assert first.files == 1
    assert first.bytes > 500


def test_nothing_is_left_in_staging(any_storage: Storage) -> None:
    any_storage.publish("w-00000001", staged(any_storage, commits(range(3))))
    any_storage.append(OFFSET_COMMITS, "sample-x", commits([8]))
    assert names(Path(any_storage.into, ".staging")) == []


def test_a_repeat_takes_the_place_of_the_attempt_before(any_storage: Storage) -> None:
    any_storage.publish("w-00000001", staged(any_storage, commits([1, 2]), commits([3], day=1)))
    any_storage.publish("w-00000002", staged(any_storage, commits([9])))
    any_storage.publish("w-00000001", staged(any_storage, commits([1, 2, 4])))
    assert seen(any_storage) == Counter([1, 2, 4, 9])
    assert places(any_storage) == [("2026-11-01", "w-00000001"), ("2026-11-01", "w-00000002")]


def test_what_an_attempt_wrote_to_another_table_or_date_goes(any_storage: Storage) -> None:
    gaps = staged(any_storage, rows_of(INGEST_GAPS, gap(0)), table=INGEST_GAPS)
    any_storage.publish("w-00000001", [*gaps, *staged(any_storage, commits([1]))])
    any_storage.publish("w-00000001", staged(any_storage, rows_of(INGEST_GAPS, gap(1)), table=INGEST_GAPS))
    assert places(any_storage, INGEST_GAPS) == [("2026-11-02", "w-00000001")]
    assert places(any_storage) == []


def test_a_batch_without_rows_empties_the_attempt_before(any_storage: Storage) -> None:
    any_storage.publish("w-00000001", staged(any_storage, commits([1])))
    any_storage.publish("w-00000001", [])
    assert places(any_storage) == []


def test_samples_append_table_by_table_under_one_name(any_storage: Storage) -> None:
    any_storage.append(OFFSET_COMMITS, "sample-20261101T120000", commits([1]))
    any_storage.append(INGEST_GAPS, "sample-20261101T120000", rows_of(INGEST_GAPS, gap(0)))
    any_storage.append(INGEST_GAPS, "sample-20261101T120000", rows_of(INGEST_GAPS, gap(0)))
    assert seen(any_storage) == Counter([1])
    assert any_storage.batches(INGEST_GAPS)[0].files == 1


def test_a_file_that_is_gone_stops_the_batch_before_it_begins(any_storage: Storage) -> None:
    any_storage.publish("w-00000001", staged(any_storage, commits([1])))
    files = staged(any_storage, commits([2]), commits([3], day=1))
    Path(files[1].path).unlink()
    with pytest.raises(StorageError, match="was deleted before its batch was published"):
        any_storage.publish("w-00000001", files)
    assert seen(any_storage) == Counter([1])


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


def test_what_a_uri_says_besides_the_path_stays_at_its_end(tmp_path: Path) -> None:
    writer = StagedWriter(f"file://{tmp_path}/stage?region=here")
    writer.write(OFFSET_COMMITS, commits([1]).to_batches()[0])
    (file,) = writer.close()
    assert file.path.endswith(".parquet?region=here")
    assert names(tmp_path / "stage") == [file.path.removesuffix("?region=here").rpartition("/")[2]]


@pytest.mark.parametrize("name", ["", "..", "a/b", ".hidden", "_hidden", "ä", "x" * 200, "a=b"])
def test_a_name_that_cannot_be_a_directory_is_a_programmers_error(storage: Storage, name: str) -> None:
    with pytest.raises(ValueError, match="cannot be a name"):
        storage.publish(name, [])


def test_killed_at_any_step_a_repeat_makes_it_right(local_storage: Storage, kill_at: Callable[[int], None]) -> None:
    storage = local_storage
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
    assert steps > 8
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


@pytest.mark.parametrize("kind", ["storage", "delta"])
def test_a_reader_sees_each_repeat_whole(request: pytest.FixtureRequest, kind: str) -> None:
    storage: Storage = request.getfixturevalue(kind)
    storage.publish("w-00000001", staged(storage, commits(range(50))))
    with watched(storage, range(50)) as looks:
        for _ in range(30):
            storage.publish("w-00000001", staged(storage, commits(range(25)), commits(range(25, 50))))
    assert not looks.wrong
    assert looks.number > 5
