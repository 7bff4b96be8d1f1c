"""The cluster that these tests take samples of."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fakes.scripted_cluster import ScriptedCluster
from tests.pipeline.facts.sample.samples import with_groups


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    """Yield a new cluster for each test, with a group of every kind."""
    with with_groups() as found:
        yield found
