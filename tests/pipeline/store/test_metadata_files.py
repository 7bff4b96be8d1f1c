"""Metadata files keep the small states of commands between runs."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.store import Storage
from tests.pipeline.store.commits import names

CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"


def test_metadata_have_the_content_that_was_saved_last(storage: Storage) -> None:
    assert storage.read_metadata("built") == {}
    storage.save_metadata("built", {"a": [1]})
    storage.save_metadata("built", {"b": "é"})
    assert storage.read_metadata("built") == {"b": "é"}
    assert names(Path(storage.location, ".notes")) == ["built.json"]


def test_a_broken_metadata_file_is_reported(storage: Storage) -> None:
    storage.save_metadata("built", {})
    Path(storage.location, ".notes", "built.json").write_text("{")
    with pytest.raises(StorageError, match="cannot be parsed"):
        storage.read_metadata("built")


def test_metadata_that_cannot_be_written_leave_the_old_ones(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    storage.save_metadata("built", {"a": 1})

    def refuse(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(StorageError, match="no space is left"):
        storage.save_metadata("built", {"a": 2})
    monkeypatch.undo()
    assert json.loads(Path(storage.location, ".notes", "built.json").read_text()) == {"a": 1}
    assert len(names(Path(storage.location, ".notes"))) == 1
