"""Names that no request can encode: they fail alone, and the requests for the other names are still sent."""

from __future__ import annotations

import pytest

from tests.fakes.scripted_cluster import Group, ScriptedCluster


def _cluster(**versions: tuple[int, int]) -> ScriptedCluster:
    groups = {name: Group(coordinator=at) for name, at in {"a": 1, "b": 2, "c": 2, "d": 3}.items()}
    return ScriptedCluster(groups=groups, topics={"t": {0: 1, 1: 2}}, versions=versions)


INVALID_NAMES = pytest.mark.parametrize("name", ["not utf-8 \udcff", "x" * 40_000], ids=["not utf-8", "too long"])


@INVALID_NAMES
def test_a_group_id_that_no_request_can_encode_fails_alone(name: str) -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        wanted = dict.fromkeys(["a", "b", name, "c", "d"])
        offsets = admin.list_consumer_group_offsets(wanted)
        described = admin.describe_consumer_groups(wanted)
        assert (sorted(offsets.succeeded), sorted(described.succeeded)) == (["a", "b", "c", "d"], ["a", "b", "c", "d"])
        assert (list(offsets.failed), list(described.failed)) == ([name], [name])
        assert (offsets.failed[name].group, offsets.failed[name].name) == (name, "INVALID_REQUEST")
        assert offsets.failed[name].message.startswith("cannot encode the request: ")


@INVALID_NAMES
def test_a_topic_that_no_request_can_encode_fails_alone(name: str) -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        assert list(admin.list_partitions(["t", name]).succeeded) == ["t"]
        assert list(admin.list_offsets([("t", 0), (name, 0), ("t", 1)]).failed) == [(name, 0)]
        named = admin.list_consumer_group_offsets({"a": [("t", 0)], "b": [(name, 0)], "c": [("t", 0)]})
        assert (sorted(named.succeeded), list(named.failed)) == (["a", "c"], ["b"])


@INVALID_NAMES
def test_a_group_id_that_no_old_request_can_encode_fails_alone(name: str) -> None:
    with _cluster(FindCoordinator=(0, 3), OffsetFetch=(0, 7)) as cluster, cluster.admin() as admin:
        results = admin.list_consumer_group_offsets(dict.fromkeys(["a", name, "d"]))
        assert (sorted(results.succeeded), list(results.failed)) == (["a", "d"], [name])
