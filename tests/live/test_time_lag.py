"""The time lag of `lag --time`, against the timestamps that the records really have."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AclOperation, AdminClient
from confluent_kafka.cimpl import NewTopic

from kafka_groups.admin import GroupAdmin
from kafka_groups.admin.api import RecordPosition
from tests.fakes.command_line import run
from tests.live.groups.clients import open_admin, run_command
from tests.live.groups.conditions import wait_until
from tests.live.groups.members import simple
from tests.live.groups.topics import client_properties, make_topic, unique_name

if TYPE_CHECKING:
    from tests.live.conftest import Cluster
    from tests.live.secured_broker import SecuredBroker

pytestmark = pytest.mark.live

HOUR_MS = 3_600_000
SOON_S = 10.0
_TIMEOUT_S = 30


def write(bootstrap: str, topic: str, ages_ms: Sequence[int], *, key: bytes | None = None) -> list[int]:
    """Write a record of each age to partition 0; return their timestamps."""
    written_ms = [now_ms() - age for age in ages_ms]
    producer = Producer(client_properties(bootstrap))
    for at_ms in written_ms:
        producer.produce(topic, value=b"v", key=key, partition=0, timestamp=at_ms)
    assert producer.flush(_TIMEOUT_S) == 0
    return written_ms


def true_record(bootstrap: str, topic: str, offset: int) -> tuple[int, int]:
    """Return the offset and the timestamp of the first record of partition 0 at or after an offset."""
    consumer = Consumer(client_properties(bootstrap) | {"group.id": unique_name("true-times")})
    try:
        consumer.assign([TopicPartition(topic, 0, offset)])
        (message,) = consumer.consume(1, _TIMEOUT_S)
    finally:
        consumer.close()
    found = message.offset()
    assert found is not None
    return found, message.timestamp()[1]


@pytest.fixture(scope="module", autouse=True)
def compacted(cluster: Cluster) -> str:
    """Return a topic of which the first records will be compacted; that takes up to 15 seconds."""
    topic = unique_name("compacted")
    config = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.001", "segment.ms": "100"}
    client = AdminClient(client_properties(cluster.bootstrap))
    client.create_topics([NewTopic(topic, 1, 1, config=config)])[topic].result(_TIMEOUT_S)
    with open_admin(cluster.bootstrap) as admin:
        wait_until(lambda: not admin.list_offsets([(topic, 0)]).failed, lambda: f"{topic} has no leader")
    write(cluster.bootstrap, topic, [7 * HOUR_MS, 6 * HOUR_MS, 5 * HOUR_MS], key=b"same")
    time.sleep(0.2)
    # The first record of the next segment, which makes that of the others one that can be compacted.
    write(cluster.bootstrap, topic, [4 * HOUR_MS], key=b"other")
    return topic


def measure(cluster: Cluster, *commits: tuple[str, int, int], options: Sequence[str] = ()) -> list[Row]:
    """Return the time lags of commits, each of which is that of a new group."""
    with ExitStack() as stack:
        groups = [stack.enter_context(simple(cluster.bootstrap, commits=[commit])) for commit in commits]
        started_ms = now_ms()
        command = ("lag", *groups, "--time", "--by", "partition", "--format", "json", *options)
        result = run_command(cluster.bootstrap, *command)
        ended_ms = now_ms()
    assert (result.code, result.json["errors"]) == (0, [])
    by_group = {found["group"]: found["rows"] for found in result.json["groups"]}
    return [Row(by_group[group][0], started_ms, ended_ms) for group in groups]


@dataclass(frozen=True)
class Row:
    """A partition in the output of a command, and the times between which the command ran."""

    values: dict[str, Any]
    started_ms: int
    ended_ms: int

    def __getitem__(self, key: str) -> Any:
        return self.values[key]

    @property
    def quality(self) -> str:
        """Return the quality of the time lag."""
        return str(self["time_lag_quality"])

    def is_age_of(self, written_ms: int) -> bool:
        """Return whether the time lag is the age of a record with this timestamp."""
        return bool(self.started_ms - written_ms <= self["time_lag_ms"] <= self.ended_ms - written_ms)


def now_ms() -> int:
    """Return the time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def test_the_time_lag_is_the_age_of_the_record_at_the_commit(cluster: Cluster) -> None:
    topic = make_topic(cluster.bootstrap)
    written_ms = write(cluster.bootstrap, topic, [7 * HOUR_MS, 5 * HOUR_MS, 3 * HOUR_MS, HOUR_MS])
    rows = measure(cluster, *((topic, 0, offset) for offset in range(5)))
    assert [row.quality for row in rows] == ["exact"] * 5
    assert [row.is_age_of(at_ms) for row, at_ms in zip(rows, written_ms, strict=False)] == [True] * 4
    assert (rows[4]["lag"], rows[4]["time_lag_ms"]) == (0, 0)


def test_the_table_and_a_condition_show_the_time_lag(cluster: Cluster) -> None:
    topic = make_topic(cluster.bootstrap)
    write(cluster.bootstrap, topic, [7 * HOUR_MS])
    with simple(cluster.bootstrap, commits=[(topic, 0, 0)]) as group:
        shown = run_command(cluster.bootstrap, "lag", group, "--time")
        failed = run_command(cluster.bootstrap, "lag", group, "--fail-if", "time_lag>6h")
        waited = run_command(cluster.bootstrap, "wait", group, "--until", "time_lag<8h", "--for", "5s")
    header, cells = shown.rows
    found = dict(zip(header, cells, strict=True))
    assert (found["TIME-LAG"], found["QUALITY"], shown.err) == ("7h", "exact", "")
    assert (failed.code, waited.code) == (4, 0)


def test_an_empty_partition_has_no_time_lag(cluster: Cluster) -> None:
    topic = make_topic(cluster.bootstrap)
    (row,) = measure(cluster, (topic, 0, 0))
    assert (row["time_lag_ms"], row.quality) == (0, "exact")


def test_a_partition_cut_by_retention_has_a_lower_bound(cluster: Cluster) -> None:
    topic = make_topic(cluster.bootstrap, partitions=1)
    written_ms = write(cluster.bootstrap, topic, [7 * HOUR_MS, 5 * HOUR_MS, 3 * HOUR_MS, HOUR_MS])
    delete_before(cluster.bootstrap, topic, 2)
    lost, kept = measure(cluster, (topic, 0, 0), (topic, 0, 3))
    assert (lost.quality, lost["messages_lost"], lost.is_age_of(written_ms[2])) == ("data_loss", 2, True)
    assert (kept.quality, kept.is_age_of(written_ms[3])) == ("exact", True)
    delete_before(cluster.bootstrap, topic, 4)
    (nothing_left,) = measure(cluster, (topic, 0, 3))
    assert (nothing_left["time_lag_ms"], nothing_left.quality) == (0, "data_loss")


def delete_before(bootstrap: str, topic: str, offset: int) -> None:
    """Delete the records of partition 0 before an offset, as retention does."""
    client = AdminClient(client_properties(bootstrap))
    at = TopicPartition(topic, 0, offset)
    client.delete_records([at])[at].result(_TIMEOUT_S)


def test_control_records_are_no_records_to_process(cluster: Cluster) -> None:
    topic = make_topic(cluster.bootstrap)
    producer = transactional(cluster)
    written_ms = []
    for end in (producer.commit_transaction, producer.abort_transaction):
        written_ms.append(produce_in_transaction(producer, topic))
        end(_TIMEOUT_S)
    # The log: a record, a marker, an aborted record, a marker.
    at_first_marker, at_last_marker = measure(cluster, (topic, 0, 1), (topic, 0, 3))
    assert (at_first_marker["lag"], at_first_marker.quality) == (3, "compacted")
    assert at_first_marker.is_age_of(written_ms[1])
    assert (at_last_marker["lag"], at_last_marker["time_lag_ms"], at_last_marker.quality) == (1, 0, "compacted")
    (without_aborted,) = measure(cluster, (topic, 0, 1), options=["--isolation", "committed"])
    assert (without_aborted["lag"], without_aborted["time_lag_ms"], without_aborted.quality) == (3, 0, "compacted")
    notes = [found["note"] for found in (at_first_marker, at_last_marker, without_aborted)]
    assert notes == [[], ["caught_up"], ["caught_up"]]


def test_an_open_transaction_delays_nothing_and_makes_a_lower_bound(cluster: Cluster) -> None:
    topic = make_topic(cluster.bootstrap)
    (stable_ms,) = write(cluster.bootstrap, topic, [2 * HOUR_MS])
    producer = transactional(cluster)
    open_ms = produce_in_transaction(producer, topic)
    try:
        started = time.monotonic()
        (uncommitted,) = measure(cluster, (topic, 0, 1))
        before, at_stable = measure(cluster, (topic, 0, 0), (topic, 0, 1), options=["--isolation", "committed"])
        elapsed_s = time.monotonic() - started
    finally:
        producer.abort_transaction(_TIMEOUT_S)
    assert (uncommitted.quality, uncommitted.is_age_of(open_ms)) == ("exact", True)
    assert (before.quality, before.is_age_of(stable_ms)) == ("exact", True)
    assert (at_stable["lag"], at_stable["time_lag_ms"]) == (0, 0)
    assert (at_stable.quality, at_stable["note"]) == ("lower_bound", ["open_transaction"])
    assert elapsed_s < SOON_S


def transactional(cluster: Cluster) -> Producer:
    """Return a producer of transactions."""
    producer = Producer(client_properties(cluster.bootstrap) | {"transactional.id": unique_name("transaction")})
    producer.init_transactions(_TIMEOUT_S)
    return producer


def produce_in_transaction(producer: Producer, topic: str) -> int:
    """Begin a transaction, and write a record to partition 0; return its timestamp."""
    written_ms = now_ms() - HOUR_MS
    producer.begin_transaction()
    producer.produce(topic, value=b"v", partition=0, timestamp=written_ms)
    assert producer.flush(_TIMEOUT_S) == 0
    return written_ms


def test_records_of_other_groups_and_partitions_are_read_together(cluster: Cluster) -> None:
    topic = make_topic(cluster.bootstrap, partitions=3, records=2_000)
    wanted = [RecordPosition(topic, number, offset) for number in range(3) for offset in (0, 7, 8, 900, 1_999, 2_000)]
    with open_admin(cluster.bootstrap) as admin:
        found = admin.list_record_times(wanted).all()
    assert {key: None if record is None else record.offset for key, record in found.items()} == {
        key: None if key.offset == 2_000 else key.offset for key in wanted
    }
    assert found[RecordPosition(topic, 0, 900)] == true_record(cluster.bootstrap, topic, 900)


def test_the_reader_joins_no_group_and_writes_no_log(cluster: Cluster) -> None:
    topic = make_topic(cluster.bootstrap, records=3)
    with simple(cluster.bootstrap, commits=[(topic, 0, 1)]) as group:
        result = run_command(cluster.bootstrap, "lag", group, "--time")
        described = run_command(cluster.bootstrap, "describe", group, "--state", "--format", "json").json
        listed = run_command(cluster.bootstrap, "list").out
    assert (result.err, result.code) == ("", 0)
    assert described["groups"][0]["state"] == "Empty"
    assert "kafka-groups-reads" not in listed


def test_a_topic_without_read_is_an_error_of_its_partition(secured: SecuredBroker) -> None:
    readable, unreadable = (make_topic(secured.bootstrap, records=4) for _ in range(2))
    with simple(secured.bootstrap, commits=[(readable, 0, 1), (unreadable, 0, 1)]) as group:
        secured.allow("describer", AclOperation.DESCRIBE, unreadable)
        arguments = ("lag", group, "--time", "--by", "partition", "--format", "json", *secured.flags("describer"))

        def is_denied() -> bool:
            return run(*arguments, bootstrap=None).exit_code == 3

        wait_until(is_denied, lambda: "the right has no effect")
        started = time.monotonic()
        outcome = run(*arguments, bootstrap=None)
    document = json.loads(outcome.stdout)
    rows = {row["topic"]: (row["lag"], row["time_lag_quality"]) for row in document["groups"][0]["rows"]}
    assert rows == {readable: (3, "exact"), unreadable: (3, "unknown")}
    assert [(error["topic"], error["partition"], error["name"]) for error in document["errors"]] == [
        (unreadable, 0, "TOPIC_AUTHORIZATION_FAILED")
    ]
    assert document["groups"][0]["time_lag_quality"] == "lower_bound"
    assert time.monotonic() - started < SOON_S


def test_records_are_read_with_tls_and_scram(secured: SecuredBroker) -> None:
    if secured.sasl_ssl_listener is None:
        pytest.skip("openssl is not installed")
    topic = make_topic(secured.bootstrap, records=4)
    client = secured.client("operator", mechanism="SCRAM-SHA-512") | {
        "bootstrap.servers": secured.sasl_ssl_listener,
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": str(secured.certificate),
    }
    with GroupAdmin(client) as admin:
        found = admin.list_record_times([RecordPosition(topic, 0, 2)]).all()
    assert [record and record.offset for record in found.values()] == [2]


def test_after_a_compacted_gap_it_is_the_age_of_the_next_record(cluster: Cluster, compacted: str) -> None:
    wait_until(lambda: true_record(cluster.bootstrap, compacted, 0)[0] > 0, lambda: f"{compacted} is not compacted")
    offset, written_ms = true_record(cluster.bootstrap, compacted, 0)
    in_gap, at_record = measure(cluster, (compacted, 0, 0), (compacted, 0, offset))
    assert (in_gap.quality, in_gap["messages_lost"], in_gap.is_age_of(written_ms)) == ("compacted", 0, True)
    assert (at_record.quality, at_record.is_age_of(written_ms)) == ("exact", True)
