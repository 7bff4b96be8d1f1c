"""Several profiles in one command, on brokers of two versions."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kafka_groups.pipeline.store import open_storage
from kafka_groups.pipeline.tables import OFFSET_COMMITS, SAMPLE_RUNS
from tests.fakes.cluster_profiles import ClusterProfiles
from tests.live.groups.members import commit_from_outside, many_simple
from tests.live.groups.topics import make_topic, unique_name
from tests.pipeline.facts.sample.samples import rows_of

if TYPE_CHECKING:
    from tests.live.conftest import Cluster

pytestmark = pytest.mark.live
BOTH = ("--profile", "new,old")
ALL = ("--profile", "new,broken,old")


@pytest.fixture
def profiles(cluster: Cluster, kafka_2_8: Cluster, tmp_path: Path) -> ClusterProfiles:
    """Profiles of brokers of two versions, and one of a port where nothing listens."""
    profiles = ClusterProfiles(tmp_path)
    profiles.add("new", cluster.bootstrap)
    profiles.add("old", kafka_2_8.bootstrap)
    profiles.add("broken", "127.0.0.1:1")
    return profiles


@pytest.fixture
def group(cluster: Cluster, kafka_2_8: Cluster) -> str:
    """A group that exists in both clusters; it is 1 behind in `new` and 4 in `old`."""
    group = unique_name("both")
    for each, offset in ((cluster, 4), (kafka_2_8, 1)):
        topic = make_topic(each.bootstrap, partitions=1, records=5)
        commit_from_outside(each.bootstrap, [group], [(topic, 0, offset)])
    return group


def run(profiles: ClusterProfiles, *arguments: str) -> tuple[dict[str, Any], str, int]:
    """Return the document of a command, its errors, and its exit code."""
    process = profiles.start(*arguments, "--format", "json")
    stdout, stderr = process.communicate(timeout=120)
    return json.loads(stdout), stderr, process.returncode


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


def test_a_group_of_the_same_id_is_a_group_of_each_cluster(profiles: ClusterProfiles, group: str) -> None:
    document, errors, code = run(profiles, "describe", group, *ALL)
    lags = [(each["cluster"], each["offsets"][0]["lag"]) for each in document["groups"]]
    assert (code, lags) == (3, [("new", 1), ("old", 4)])
    assert [(error["cluster"], error["name"]) for error in document["errors"]] == [("broken", "CONNECTION_FAILED")]
    assert "broken: Error: cannot connect to 127.0.0.1:1: connection refused" in errors


def test_check_has_the_rows_of_each_cluster(profiles: ClusterProfiles, group: str) -> None:
    document, errors, code = run(profiles, "check", group, *ALL)
    failed = {each["cluster"] for each in document["checks"] if each["status"] == "failed"}
    assert (code, failed, len(errors.splitlines())) == (3, {"broken"}, 1)
    steps = Counter((each["cluster"], each["check"]) for each in document["checks"])
    # Of three brokers and of one.
    assert (steps["new", "connection"], steps["old", "connection"]) == (3, 1)
    rights = {(each["cluster"], each["subject"]) for each in document["checks"] if each["check"] == "rights"}
    assert {("new", f"group {group}"), ("old", f"group {group}")} <= rights
    assert run(profiles, "check", *BOTH)[2] == 0


def test_wait_ends_when_the_group_has_caught_up_in_both(
    profiles: ClusterProfiles, group: str, kafka_2_8: Cluster
) -> None:
    process = profiles.start("wait", group, *BOTH, "--until", "lag<=1", "--for", "60s")
    (topic,) = {
        each["topic"] for each in run(profiles, "offsets", group, "--profile", "old")[0]["groups"][0]["offsets"]
    }
    commit_from_outside(kafka_2_8.bootstrap, [group], [(topic, 0, 5)])
    stdout, _ = process.communicate(timeout=90)
    rows = [line.split()[:2] for line in stdout.splitlines()[1:]]
    assert (process.returncode, sorted(rows)) == (0, [["new", group], ["old", group]])


def test_samples_of_both_are_in_one_directory(profiles: ClusterProfiles, group: str, tmp_path: Path) -> None:
    history = tmp_path / "history"
    document, _, code = run(profiles, "pipeline", "sample", "--data-dir", str(history), *ALL)
    ids = {row["cluster"]: row["cluster_id"] for row in document["tables"]}
    assert (code, {*ids}, document["samples"]) == (3, {"new", "old"}, 2)
    storage = open_storage(str(history))
    assert Counter(row["cluster_id"] for row in rows_of(storage, SAMPLE_RUNS)) == dict.fromkeys(ids.values(), 1)
    commits = {
        row["cluster_id"]: row["committed_offset"] for row in rows_of(storage, OFFSET_COMMITS) if row["group"] == group
    }
    assert commits == {ids["new"]: 4, ids["old"]: 1}
