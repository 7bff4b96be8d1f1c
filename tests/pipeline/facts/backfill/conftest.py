"""The cluster that these tests fill back from."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fakes.scripted_cluster import ScriptedCluster
from tests.pipeline.facts.backfill.backfills import busy_and_quiet


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    """Yield a new cluster for each test, whose partitions are written at different rates."""
    with busy_and_quiet() as found:
        yield found
