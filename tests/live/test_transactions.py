"""Offsets of open transactions, and the leader epoch and the metadata of a commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kafka_groups.model import CommittedOffset
from tests.live.groups.clients import open_admin, run_command
from tests.live.groups.members import simple
from tests.live.groups.raw_connection import commit_annotated
from tests.live.groups.topics import make_topic, unique_name
from tests.live.groups.transactions import open_transaction

if TYPE_CHECKING:
    from tests.live.conftest import Cluster

pytestmark = pytest.mark.live

METADATA = "größe ✓ 雪 " + "m" * 284  # exactly 300 bytes
_TIMEOUT_S = 30


@pytest.fixture(scope="module")
def topic(cluster: Cluster) -> str:
    return make_topic(cluster.bootstrap, partitions=2, records=8)


def test_only_stable_waits_for_offsets_of_anopen_transaction(cluster: Cluster, topic: str) -> None:
    commits = [(topic, 0, 3), (topic, 1, 4)]
    with (
        simple(cluster.bootstrap, commits=commits) as group,
        open_transaction(cluster.bootstrap, group, topic, offset=7),
    ):
        plain = run_command(cluster.bootstrap, "offsets", group)
        stable = run_command(cluster.bootstrap, "offsets", group, "--stable", "--timeout", "2s")

    assert [row[2:4] for row in plain.rows[1:]] == [["0", "3"], ["1", "4"]]
    assert (plain.err, plain.code) == ("", 0)
    assert "transaction" in stable.err
    assert len(stable.notes) == 1
    assert stable.code in {1, 3}


def test_with_stable_an_open_transaction_hides_only_its_own_partition(cluster: Cluster, topic: str) -> None:
    commits = [(topic, 0, 3), (topic, 1, 4)]
    with (
        simple(cluster.bootstrap, commits=commits) as group,
        open_transaction(cluster.bootstrap, group, topic, offset=7),
    ):
        result = run_command(cluster.bootstrap, "offsets", group, "--stable", "--timeout", "2s", "--format", "json")

    errors = [(each["group"], each["topic"], each["partition"], each["code"]) for each in result.json["errors"]]
    assert errors == [(group, topic, 0, 88)]
    assert [(row["partition"], row["committed_offset"]) for row in result.json["groups"][0]["offsets"]] == [(1, 4)]
    assert (result.json["status"], result.code) == ("partial", 3)


def test_stable_prints_the_offsets_of_a_committed_transaction(cluster: Cluster, topic: str) -> None:
    with simple(cluster.bootstrap, commits=[(topic, 0, 3)]) as group:
        with open_transaction(cluster.bootstrap, group, topic, offset=7) as producer:
            producer.commit_transaction(_TIMEOUT_S)
            producer.begin_transaction()
        result = run_command(cluster.bootstrap, "offsets", group, "--stable")

    assert [row[2:4] for row in result.rows[1:]] == [["0", "7"]]
    assert (result.err, result.code) == ("", 0)


def test_a_commit_keeps_its_metadata_and_leader_epoch(cluster: Cluster, topic: str) -> None:
    group = unique_name("annotated")
    commit_annotated(cluster.bootstrap, group, topic, partition=0, offset=5, leader_epoch=0, metadata=METADATA)
    commit_annotated(cluster.bootstrap, group, topic, partition=1, offset=6, leader_epoch=-1, metadata="")
    with open_admin(cluster.bootstrap) as admin:
        found = admin.list_consumer_group_offsets({group: None}).all()[group]
    verbose = run_command(cluster.bootstrap, "describe", group, "--verbose", "--format", "json")

    assert len(METADATA.encode()) == 300
    assert dict(found.rows()) == {
        (topic, 0): CommittedOffset(offset=5, leader_epoch=0, metadata=METADATA),
        (topic, 1): CommittedOffset(offset=6, leader_epoch=None, metadata=""),
    }
    first, second = verbose.json["groups"][0]["offsets"]
    assert (first["metadata"], first["leader_epoch"], first["log_start_offset"]) == (METADATA, 0, 0)
    assert (second["metadata"], second["leader_epoch"], second["lag"]) == ("", None, 2)
