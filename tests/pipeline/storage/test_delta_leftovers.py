"""What cleaning a Delta table leaves alone: files that are not committed yet."""

from __future__ import annotations

import os
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from kafka_groups.pipeline.schemas import OFFSET_COMMITS
from kafka_groups.pipeline.storage import Storage
from kafka_groups.pipeline.storage.delta_log import DeltaLog
from tests.pipeline.storage.commits import append, commits, seen, written

if TYPE_CHECKING:
    import pytest

_THREE_DAYS_S = 3 * 86_400


def test_a_file_that_was_written_long_ago_outlives_a_cleaning_just_before_it_is_committed(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A laptop sleeps over the weekend between writing and committing."""
    append(storage, "w-00000001", commits([1]))
    files = written(storage, commits([2, 3]))
    long_ago = time.time() - _THREE_DAYS_S
    for file in files:
        os.utime(file.path, (long_ago, long_ago))
    check = DeltaLog._check_unchanged

    def cleaned_before(log: DeltaLog, *given: Any) -> None:
        DeltaLog(storage.place, OFFSET_COMMITS).vacuum()
        check(log, *given)

    monkeypatch.setattr(DeltaLog, "_check_unchanged", cleaned_before)
    storage.append(files)

    assert seen(storage) == Counter([1, 2, 3])
