"""What the contract tests share: a cluster behind a fake door."""

from __future__ import annotations

import pytest
from pytest_mock import MockerFixture

from tests.fakes.fake_admin import FakeCluster


@pytest.fixture
def cluster(mocker: MockerFixture) -> FakeCluster:
    """A cluster of one broker, without groups."""
    return FakeCluster(mocker)
