"""The fixtures of the tests of commands: a cluster behind a fake client, and a state directory for the journal."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.fakes.fake_admin import FakeCluster

if TYPE_CHECKING:
    from pytest_mock import MockerFixture

_NUMBERS = count()


@pytest.fixture
def cluster(mocker: MockerFixture) -> FakeCluster:
    """Return a cluster of one broker, without groups."""
    return FakeCluster(mocker)


@pytest.fixture(autouse=True)
def state_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the user's state directory, which is absent at the start of each test."""
    path = tmp_path_factory.getbasetemp() / f"state-{next(_NUMBERS)}"
    monkeypatch.setenv("XDG_STATE_HOME", str(path))
    return path
