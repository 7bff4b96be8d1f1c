"""The fixture of the tests of commands: a cluster behind a fake client."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.fakes.fake_admin import FakeCluster

if TYPE_CHECKING:
    from pytest_mock import MockerFixture


@pytest.fixture
def cluster(mocker: MockerFixture) -> FakeCluster:
    """Return a cluster of one broker, without groups."""
    return FakeCluster(mocker)
