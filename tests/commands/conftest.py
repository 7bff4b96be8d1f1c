"""The fixtures of the tests of commands: a cluster behind a fake client, and a state directory for the journal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.fakes.fake_admin import FakeCluster

if TYPE_CHECKING:
    from pytest_mock import MockerFixture


@pytest.fixture
def cluster(mocker: MockerFixture) -> FakeCluster:
    """Return a cluster of one broker, without groups."""
    return FakeCluster(mocker)


@pytest.fixture(autouse=True)
def state_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the user's state directory, an empty one for each test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"
