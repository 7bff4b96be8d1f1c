from __future__ import annotations

import json
from pathlib import Path

import pytest

from kafka_groups.errors import SourceError, StorageError
from kafka_groups.pipeline.storage import Storage
from kafka_groups.pipeline.storage.publishing import JOINED
from tests.pipeline.storage.commits import names

CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"


def test_a_checkpoint_keeps_its_writer_once_it_was_used(storage: Storage) -> None:
    checkpoint = storage.checkpoint(CLUSTER)
    assert checkpoint.location == f"file://{storage.into}/.checkpoints/{CLUSTER}/ingest"
    Path(storage.into, ".checkpoints", CLUSTER, "ingest").mkdir()
    assert storage.checkpoint(CLUSTER) == checkpoint


def test_a_checkpoint_that_was_deleted_begins_under_another_name(storage: Storage) -> None:
    assert storage.checkpoint(CLUSTER).writer != storage.checkpoint(CLUSTER).writer


def test_two_clusters_have_two_checkpoints(storage: Storage) -> None:
    one, other = storage.checkpoint(CLUSTER), storage.checkpoint("_-" + CLUSTER[2:])
    assert one.location != other.location
    assert one.writer != other.writer


def test_another_clusters_checkpoint_is_refused_by_both_names(storage: Storage) -> None:
    storage.checkpoint(CLUSTER)
    Path(storage.into, ".checkpoints", CLUSTER).rename(Path(storage.into, ".checkpoints", "other"))
    with pytest.raises(SourceError, match=f"to cluster {CLUSTER}, and the brokers to cluster other"):
        storage.checkpoint("other")


def test_a_checkpoint_without_its_owner_is_not_guessed_at(storage: Storage) -> None:
    Path(storage.into, ".checkpoints", CLUSTER, "ingest").mkdir(parents=True)
    with pytest.raises(StorageError, match=r"owner\.json cannot be parsed"):
        storage.checkpoint(CLUSTER)


def test_a_note_is_what_was_saved_last(storage: Storage) -> None:
    assert storage.note("built") == {}
    storage.save_note("built", {"a": [1]})
    storage.save_note("built", {"b": "é"})
    assert storage.note("built") == {"b": "é"}
    assert names(Path(storage.into, ".notes")) == ["built.json"]


def test_a_broken_note_is_told(storage: Storage) -> None:
    storage.save_note("built", {})
    Path(storage.into, ".notes", "built.json").write_text("{")
    with pytest.raises(StorageError, match="cannot be parsed"):
        storage.note("built")


@pytest.mark.parametrize("text", ["{", "[1]", "null", "7", "\xff"])
def test_what_was_compacted_is_not_forgotten_with_a_broken_note(storage: Storage, text: str) -> None:
    storage.save_note(JOINED, {"w": 3})
    Path(storage.into, ".notes", f"{JOINED}.json").write_text(text, encoding="latin-1")
    with pytest.raises(StorageError, match=r"joined-batches\.json .*; restore it"):
        storage.publish("w-00000004", [])


def test_a_note_that_is_not_written_whole_leaves_the_old_one(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    storage.save_note("built", {"a": 1})

    class Full:
        def __getattr__(self, name: str) -> object:
            return getattr(fs, name)

        def move(self, *_: str) -> None:
            raise OSError(28, "No space left on device")

    fs = storage.place.fs
    monkeypatch.setattr(storage.place, "fs", Full())
    with pytest.raises(StorageError, match="no space is left"):
        storage.save_note("built", {"a": 2})
    monkeypatch.undo()
    assert json.loads(Path(storage.into, ".notes", "built.json").read_text()) == {"a": 1}
    assert len(names(Path(storage.into, ".notes"))) == 1
