"""Files of Spark's that a loss of power left empty or cut off: what is said of them, before any Spark starts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.examining.check import FAILED, Check, Cluster
from kafka_groups.pipeline.examining.holdings import examine_tables
from kafka_groups.pipeline.storage import Storage
from kafka_groups.pipeline.storage.checkpoints import planned_position, planned_positions, position_after

CLUSTER = "mine"


def planned(end: int) -> str:
    """A batch's offsets as Spark keeps them."""
    return "v1\n" + json.dumps({"conf": {}}) + "\n" + json.dumps({"cluster_id": CLUSTER, "0": end})


@pytest.fixture
def spark_files(storage: Storage) -> Path:
    """Spark's directory after batches 8 and 9 were committed and batch 10 was planned."""
    home = Path(storage.checkpoint(CLUSTER).location.removeprefix("file://"))
    for name, text in {
        "metadata": '{"id":"7d1c"}',
        **{f"offsets/{number}": planned(number) for number in (8, 9, 10)},
        **{f"commits/{number}": 'v1\n{"nextBatchWatermarkMs":0}' for number in (8, 9)},
    }.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.with_name(f".{path.name}.crc").write_bytes(b"crc")
    return home


def refusal(storage: Storage) -> str:
    """Why nobody can say how far the cluster was read."""
    with pytest.raises(StorageError) as refused:
        planned_position(storage.place, CLUSTER)
    return str(refused.value)


@pytest.mark.usefixtures("spark_files")
def test_the_newest_batch_that_was_planned_says_how_far_it_was_read(storage: Storage) -> None:
    assert planned_position(storage.place, CLUSTER) == {"cluster_id": CLUSTER, "0": 10}
    assert planned_positions(storage.place) == [{"cluster_id": CLUSTER, "0": 10}]
    assert position_after(storage.place, CLUSTER, 9) == {"cluster_id": CLUSTER, "0": 9}


def test_without_a_checkpoint_nobody_knows_and_nothing_is_refused(storage: Storage) -> None:
    assert planned_position(storage.place, CLUSTER) is None
    storage.checkpoint(CLUSTER)
    assert planned_position(storage.place, CLUSTER) is None
    assert position_after(storage.place, CLUSTER, 3) is None


_WHOLE = planned(10).encode()


@pytest.mark.parametrize("length", range(len(_WHOLE)))
def test_offsets_that_are_cut_off_anywhere_are_refused(storage: Storage, spark_files: Path, length: int) -> None:
    (spark_files / "offsets" / "10").write_bytes(_WHOLE[:length])
    assert f"{spark_files}/offsets/10 is damaged" in refusal(storage)


@pytest.mark.parametrize("content", [bytes(len(_WHOLE)), b"\xff\xfe", b"v1\n{}\n[]", b"v1\n{}\n-"])
def test_offsets_that_say_nothing_are_refused(storage: Storage, spark_files: Path, content: bytes) -> None:
    (spark_files / "offsets" / "10").write_bytes(content)
    assert f"{spark_files}/offsets/10 is damaged" in refusal(storage)


def test_what_spark_would_stumble_over_is_to_be_deleted_with_the_newest_offsets(
    storage: Storage, spark_files: Path
) -> None:
    (spark_files / "offsets" / "10").write_bytes(b"")
    assert refusal(storage) == (
        f"{spark_files}/offsets/10 is damaged, as after a power failure; delete offsets/10, offsets/.10.crc in "
        f"{spark_files}, and run ingest again: it continues there, and replaces the rows that it reads a second "
        "time"
    )
    (spark_files / "commits" / "10").write_text("v1\n{}")
    assert "delete offsets/10, offsets/.10.crc, commits/10 in " in refusal(storage)


def test_once_they_are_deleted_the_batch_before_is_the_newest(storage: Storage, spark_files: Path) -> None:
    (spark_files / "offsets" / "10").write_bytes(b"")
    refusal(storage)
    (spark_files / "offsets" / "10").unlink()
    assert planned_position(storage.place, CLUSTER) == {"cluster_id": CLUSTER, "0": 9}


@pytest.mark.parametrize("content", [b"", b"v", bytes(9), b'v1\n{"nextBatch'])
def test_a_commit_that_is_cut_off_is_to_be_deleted_alone(storage: Storage, spark_files: Path, content: bytes) -> None:
    (spark_files / "commits" / "9").write_bytes(content)
    said = refusal(storage)
    assert said.startswith(f"{spark_files}/commits/9 is damaged")
    assert f"delete commits/9, commits/.9.crc in {spark_files}, " in said


@pytest.mark.parametrize("name", ["offsets/9", "metadata"])
def test_what_one_batch_cannot_mend_is_to_be_read_anew(storage: Storage, spark_files: Path, name: str) -> None:
    (spark_files / name).write_bytes(b"")
    said = refusal(storage)
    assert said.startswith(f"{spark_files}/{name} is damaged")
    assert f"delete {spark_files.parent}, and run ingest again: " in said


@pytest.mark.parametrize("name", ["offsets/8", "commits/8"])
def test_what_spark_does_not_read_any_more_may_be_damaged(storage: Storage, spark_files: Path, name: str) -> None:
    (spark_files / name).write_bytes(b"")
    assert planned_position(storage.place, CLUSTER) == {"cluster_id": CLUSTER, "0": 10}


def test_a_format_of_a_spark_to_come_is_left_to_that_spark(storage: Storage, spark_files: Path) -> None:
    for name in ("offsets/9", "offsets/10", "commits/9"):
        (spark_files / name).write_text("v3\nsomething else")
    assert planned_position(storage.place, CLUSTER) is None


def test_the_doctor_says_the_same_as_a_failure_of_ingest_alone(storage: Storage, spark_files: Path) -> None:
    (spark_files / "offsets" / "10").write_bytes(b"")
    for asked in (None, Cluster(CLUSTER, {0: 12}), Cluster(CLUSTER, None)):
        found = examine_tables(storage.into, asked)
        assert Check("ingest", FAILED, refusal(storage)) in found
        assert [check.check for check in found if check.status == FAILED] == ["ingest"]


def test_the_doctor_of_another_cluster_does_not_mind(storage: Storage, spark_files: Path) -> None:
    (spark_files / "offsets" / "10").write_bytes(b"")
    (found,) = (check for check in examine_tables(storage.into, Cluster("other", {0: 1})) if check.check == "ingest")
    assert (found.status, found.detail) == (
        "warning",
        "it has not written records of cluster other to this directory yet",
    )
