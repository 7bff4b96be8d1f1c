"""Notes keep the small states of commands between runs."""

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


def test_a_note_has_the_content_that_was_saved_last(storage: Storage) -> None:
    assert storage.note("built") == {}
    storage.save_note("built", {"a": [1]})
    storage.save_note("built", {"b": "é"})
    assert storage.note("built") == {"b": "é"}
    assert names(Path(storage.location, ".notes")) == ["built.json"]


def test_a_broken_note_is_reported(storage: Storage) -> None:
    storage.save_note("built", {})
    Path(storage.location, ".notes", "built.json").write_text("{")
    with pytest.raises(StorageError, match="cannot be parsed"):
        storage.note("built")


def test_a_note_that_cannot_be_written_leaves_the_old_one(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    storage.save_note("built", {"a": 1})

    def refuse(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(StorageError, match="no space is left"):
        storage.save_note("built", {"a": 2})
    monkeypatch.undo()
    assert json.loads(Path(storage.location, ".notes", "built.json").read_text()) == {"a": 1}
    assert len(names(Path(storage.location, ".notes"))) == 1
