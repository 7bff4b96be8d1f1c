"""Names that no request can carry: they fail alone, and are never a reason to ask nothing."""

from __future__ import annotations

import pytest

from tests.fakes.scripted_cluster import Group, ScriptedCluster


def _cluster(**versions: tuple[int, int]) -> ScriptedCluster:
    groups = {name: Group(coordinator=at) for name, at in {"a": 1, "b": 2, "c": 2, "d": 3}.items()}
    return ScriptedCluster(groups=groups, topics={"t": {0: 1, 1: 2}}, versions=versions)


UNASKABLE = pytest.mark.parametrize("bad", ["not utf-8 \udcff", "x" * 40_000], ids=["not utf-8", "too long"])


@UNASKABLE
def test_a_group_id_that_no_request_can_carry_fails_alone(bad: str) -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        wanted = dict.fromkeys(["a", "b", bad, "c", "d"])
        offsets = admin.list_consumer_group_offsets(wanted)
        described = admin.describe_consumer_groups(wanted)
        assert (sorted(offsets.succeeded), sorted(described.succeeded)) == (["a", "b", "c", "d"], ["a", "b", "c", "d"])
        assert (list(offsets.failed), list(described.failed)) == ([bad], [bad])
        assert (offsets.failed[bad].group, offsets.failed[bad].name) == (bad, "INVALID_REQUEST")
        assert offsets.failed[bad].message.startswith("cannot encode the request: ")


@UNASKABLE
def test_a_topic_that_no_request_can_carry_fails_alone(bad: str) -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        assert list(admin.list_partitions(["t", bad]).succeeded) == ["t"]
        assert list(admin.list_offsets([("t", 0), (bad, 0), ("t", 1)]).failed) == [(bad, 0)]
        named = admin.list_consumer_group_offsets({"a": [("t", 0)], "b": [(bad, 0)], "c": [("t", 0)]})
        assert (sorted(named.succeeded), list(named.failed)) == (["a", "c"], ["b"])


@UNASKABLE
def test_a_group_id_that_no_old_request_can_carry_fails_alone(bad: str) -> None:
    with _cluster(FindCoordinator=(0, 3), OffsetFetch=(0, 7)) as cluster, cluster.admin() as admin:
        answers = admin.list_consumer_group_offsets(dict.fromkeys(["a", bad, "d"]))
        assert (sorted(answers.succeeded), list(answers.failed)) == (["a", "d"], [bad])
