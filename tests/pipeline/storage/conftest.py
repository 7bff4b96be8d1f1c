"""A directory with nothing in it, and what can go wrong in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafka_groups.pipeline.storage import Storage, open_storage, places
from kafka_groups.pipeline.storage.delta.log import DeltaLog
from kafka_groups.pipeline.storage.places import Place

CHANGES = ("make", "move_file", "move_in", "swap", "copy_file", "delete", "write_text")


class KilledError(BaseException):
    """The process ends here."""


@pytest.fixture
def delta(tmp_path: Path) -> Storage:
    return open_storage(str(tmp_path / "mes données #1 50%"), create=True, table_format="delta")


@pytest.fixture(params=["exchange", "no exchange", "delta"])
def local_storage(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Storage:
    """Local directories: of Parquet files, the same where the file system cannot exchange, and of Delta tables."""
    if request.param == "no exchange":
        monkeypatch.setattr(places, "exchange", lambda *_: False)
    found: Storage = request.getfixturevalue("delta" if request.param == "delta" else "storage")
    return found


@pytest.fixture
def kill_at(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Lets the process die at the nth change of the file system from now; what comes later does not happen either."""
    state = {"left": -1}

    def dying(change: Callable[..., Any]) -> Callable[..., Any]:
        def step(*given: Any, **named: Any) -> Any:
            if state["left"] == 0:
                raise KilledError
            state["left"] -= 1
            return change(*given, **named)

        return step

    for name in CHANGES:
        monkeypatch.setattr(Place, name, dying(getattr(Place, name)))
    monkeypatch.setattr(DeltaLog, "commit", dying(DeltaLog.commit))
    return lambda step: state.update(left=step)
