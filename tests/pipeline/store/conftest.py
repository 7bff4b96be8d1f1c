"""A directory with nothing in it, and what can go wrong in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafka_groups.pipeline.store import Storage
from kafka_groups.pipeline.store.delta_log import DeltaLog
from kafka_groups.pipeline.store.root_directory import RootDirectory
from tests.pipeline.fact_rows import new_storage

CHANGES = ("make_parent", "flush", "forget", "write_small")


class KilledError(BaseException):
    """The process ends here."""


@pytest.fixture
def delta(tmp_path: Path) -> Storage:
    return new_storage(tmp_path / "mes données #1 50%")


@pytest.fixture
def kill_at(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Return a function that ends all changes of the file system at the nth one from now, as a kill does."""
    state = {"left": -1}

    def dying(change: Callable[..., Any]) -> Callable[..., Any]:
        def step(*given: Any, **named: Any) -> Any:
            if state["left"] == 0:
                raise KilledError
            state["left"] -= 1
            return change(*given, **named)

        return step

    for name in CHANGES:
        monkeypatch.setattr(RootDirectory, name, dying(getattr(RootDirectory, name)))
    monkeypatch.setattr(DeltaLog, "commit", dying(DeltaLog.commit))
    return lambda step: state.update(left=step)
