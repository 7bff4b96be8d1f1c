"""Features of brokers: the version of ApiVersions that contains all of them."""

from __future__ import annotations

import pytest

from tests.fakes.scripted_cluster import ScriptedCluster


@pytest.mark.parametrize(("highest", "used"), [(3, 3), (4, 4), (5, 4)])
def test_features_are_requested_in_the_version_that_includes_levels_from_0(highest: int, used: int) -> None:
    with ScriptedCluster(brokers=1, versions={"ApiVersions": (0, highest)}) as cluster, cluster.admin() as admin:
        assert list(admin.describe_features().all()) == [1]
        # The first one is of the handshake.
        assert [request.version for request in cluster.requests_of("ApiVersions")] == [3, used]
