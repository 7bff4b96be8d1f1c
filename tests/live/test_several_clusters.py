"""Several profiles in one command, on brokers of two versions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.fakes.cluster_profiles import ClusterProfiles
from tests.live.groups.members import many_simple
from tests.live.groups.topics import make_topic

if TYPE_CHECKING:
    from tests.live.conftest import Cluster

pytestmark = pytest.mark.live


@pytest.mark.parametrize("command", ["list", "describe", "offsets", "lag"])
def test_groups_of_both_clusters_are_in_one_document(
    cluster: Cluster, kafka_2_8: Cluster, tmp_path: Path, command: str
) -> None:
    profiles = ClusterProfiles(tmp_path)
    profiles.add("new", cluster.bootstrap)
    profiles.add("old", kafka_2_8.bootstrap)
    new_topic = make_topic(cluster.bootstrap, partitions=1, records=5)
    old_topic = make_topic(kafka_2_8.bootstrap, partitions=1, records=5)
    with (
        many_simple(cluster.bootstrap, 2, commits=[(new_topic, 0, 4)]) as new,
        many_simple(kafka_2_8.bootstrap, 2, commits=[(old_topic, 0, 1)]) as old,
    ):
        process = profiles.start(command, *new, *old, "--profile", "new,old", "--format", "json")
        document = json.loads(process.communicate(timeout=60)[0])
    found = {(group["cluster"], group["group"]) for group in document["groups"]}
    assert found >= {*(("new", group) for group in new), *(("old", group) for group in old)}
    ids = {(group["cluster"], group["cluster_id"]) for group in document["groups"]}
    assert len(ids) == len({cluster_id for _, cluster_id in ids}) == 2
    # Groups of one cluster are absent in the other.
    assert process.returncode == 3
    assert {(error["cluster"], error["name"]) for error in document["errors"]} == {
        ("new", "GROUP_ID_NOT_FOUND"),
        ("old", "GROUP_ID_NOT_FOUND"),
    }
