"""The fixtures of the contract tests: a cluster behind a fake client, and a state directory."""

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
def state_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the user's state directory, one for the whole run."""
    path = tmp_path_factory.getbasetemp() / "state"
    monkeypatch.setenv("XDG_STATE_HOME", str(path))
    return path
