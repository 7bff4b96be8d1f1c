"""The totals of `lag` where they are easily wrong: transactions, retention, recreated topics and missing rights.

A partition whose leader is offline is in test_lost_broker.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest
from confluent_kafka import IsolationLevel, Producer, TopicPartition
from confluent_kafka.admin import AclOperation, AdminClient, OffsetSpec

from tests.fakes.command_line import Outcome, run
from tests.live.groups.clients import CommandResult, open_admin, read_offsets, run_command
from tests.live.groups.conditions import wait_until
from tests.live.groups.contexts import enter_concurrently
from tests.live.groups.members import simple, stable
from tests.live.groups.tables import group_options
from tests.live.groups.topics import client_properties, delete_records, delete_topic, fill, make_topic, unique_name

if TYPE_CHECKING:
    from tests.live.conftest import Cluster, KafkaTool
    from tests.live.secured_broker import SecuredBroker

pytestmark = pytest.mark.live

USER: Final = "describer"
_TIMEOUT_S: Final = 30
# Columns of Kafka's own tool.
_TOPIC, _PARTITION, _END, _LAG = 1, 2, 4, 5


class Readings(NamedTuple):
    """What `lag` and Kafka's own tool print of the same groups."""

    uncommitted: CommandResult
    committed: CommandResult
    tool: dict[str, dict[tuple[str, int], tuple[int, int]]]

    def totals(self, group: str) -> dict[str, Any]:
        """Return the totals of a group up to the log end offsets."""
        return _totals(self.uncommitted, group)

    def ends_of_tool(self, group: str) -> list[int]:
        """Return the log end offsets of a group's partitions that Kafka's tool prints."""
        return [end for _, (end, _) in sorted(self.tool[group].items())]

    def lag_of_tool(self, group: str) -> int:
        """Return the lag that Kafka's tool prints, the sum of all partitions."""
        return sum(lag for _, lag in self.tool[group].values())


def _totals(result: CommandResult, group: str) -> dict[str, Any]:
    (found,) = [each for each in result.json["groups"] if each["group"] == group]
    return dict(found)


@pytest.fixture(scope="module")
def open_transaction(cluster: Cluster) -> Iterator[str]:
    """Yield a topic of two partitions with 5 records each; partition 0 has 3 more in an open transaction."""
    topic = make_topic(cluster.bootstrap, partitions=2, records=5)
    producer = Producer(client_properties(cluster.bootstrap) | {"transactional.id": unique_name("transaction")})
    producer.init_transactions(_TIMEOUT_S)
    producer.begin_transaction()
    for _ in range(3):
        producer.produce(topic, value=b"v", partition=0)
    assert producer.flush(_TIMEOUT_S) == 0
    yield topic
    producer.abort_transaction(_TIMEOUT_S)


@pytest.fixture(scope="module")
def cut(cluster: Cluster) -> str:
    """Return a topic of two partitions with 9 records each, of which partition 0 has lost the first 6."""
    topic = make_topic(cluster.bootstrap, partitions=2, records=9)
    delete_records(cluster.bootstrap, topic, 0, before=6)
    return topic


@pytest.fixture(scope="module")
def recreated(cluster: Cluster) -> str:
    """Return a topic of two partitions that had 9 records each, and has 4 since it was created again."""
    topic = make_topic(cluster.bootstrap, partitions=2, records=9)
    with simple(cluster.bootstrap, commits=[(topic, 0, 9)]) as group:
        delete_topic(cluster.bootstrap, topic)
        assert read_offsets(cluster.bootstrap, group) == {}
    make_topic(cluster.bootstrap, partitions=2, name=topic)
    with open_admin(cluster.bootstrap) as admin:
        keys = [(topic, 0), (topic, 1)]
        wait_until(
            lambda: {*admin.list_offsets(keys).succeeded.values()} == {0},
            lambda: f"{topic} has the old log",
        )
    fill(cluster.bootstrap, topic, partitions=2, records=4)
    return topic


@pytest.fixture(scope="module")
def groups(cluster: Cluster, open_transaction: str, cut: str, recreated: str) -> Iterator[dict[str, str]]:
    """Yield a group for each topic, and one with commits on all of them."""
    commits = {
        "open": [(open_transaction, 0, 2), (open_transaction, 1, 4)],
        "cut": [(cut, 0, 2), (cut, 1, 8)],
        # A consumer that did not notice commits the offset that it had.
        "recreated": [(recreated, 0, 9), (recreated, 1, 1)],
    }
    everything = [commit for each in commits.values() for commit in each]
    with enter_concurrently(
        **{name: simple(cluster.bootstrap, commits=each) for name, each in commits.items()},
        all=simple(cluster.bootstrap, commits=everything),
    ) as found:
        yield found


@pytest.fixture(scope="module")
def readings(cluster: Cluster, kafka_tool: KafkaTool, groups: dict[str, str]) -> Readings:
    """Read all groups once with Kafka's own tool and twice with `lag`."""
    names = sorted(groups.values())
    out, _, _ = kafka_tool(cluster, "--describe", *group_options(names))
    tool: dict[str, dict[tuple[str, int], tuple[int, int]]] = {name: {} for name in names}
    for words in (line.split() for line in out.splitlines()):
        if words and words[0] in tool:
            tool[words[0]][words[_TOPIC], int(words[_PARTITION])] = (int(words[_END]), int(words[_LAG]))
    command = ("lag", *names, "--format", "json", "--isolation")
    return Readings(
        run_command(cluster.bootstrap, *command, "uncommitted"),
        run_command(cluster.bootstrap, *command, "committed"),
        tool,
    )


def stable_offsets(bootstrap: str, topic: str) -> list[int]:
    """Return the last stable offsets of a topic of two partitions, as librdkafka's Admin client lists them."""
    client = AdminClient(client_properties(bootstrap))
    wanted = {TopicPartition(topic, number): OffsetSpec.latest() for number in range(2)}
    found = client.list_offsets(wanted, isolation_level=IsolationLevel.READ_COMMITTED)
    return [future.result(_TIMEOUT_S).offset for _, future in sorted(found.items(), key=lambda item: item[0].partition)]


def test_an_open_transaction_is_lag_as_in_kafkas_tool(readings: Readings, groups: dict[str, str]) -> None:
    found = readings.totals(groups["open"])
    assert readings.ends_of_tool(groups["open"]) == [8, 5]
    assert found["lag"] == readings.lag_of_tool(groups["open"]) == 7
    assert (found["partitions_behind"], found["note"], found["isolation"]) == (2, [], "uncommitted")


def test_with_isolation_committed_lag_ends_at_the_last_stable_offset(
    cluster: Cluster, readings: Readings, groups: dict[str, str], open_transaction: str
) -> None:
    ends = stable_offsets(cluster.bootstrap, open_transaction)
    found = _totals(readings.committed, groups["open"])
    assert ends == [5, 5]
    assert (found["lag"], found["isolation"]) == (ends[0] - 2 + ends[1] - 4, "committed")
    assert readings.committed.code == 0


def test_a_cut_partition_has_the_lag_of_kafkas_tool_and_its_lost_messages(
    readings: Readings, groups: dict[str, str]
) -> None:
    found = readings.totals(groups["cut"])
    assert found["lag"] == readings.lag_of_tool(groups["cut"]) == 8
    assert (found["messages_lost"], found["retention_margin"], found["note"]) == (4, 0, ["data_loss"])


def test_a_commit_from_before_a_topic_was_recreated_is_beyond_the_end_and_hides_no_lag(
    readings: Readings, groups: dict[str, str], recreated: str
) -> None:
    found = readings.totals(groups["recreated"])
    tool = readings.tool[groups["recreated"]]
    assert tool == {(recreated, 0): (4, -5), (recreated, 1): (4, 3)}
    assert (found["lag"], found["partitions_behind"], found["note"]) == (3, 1, ["beyond_end"])


def test_the_totals_of_a_group_are_the_sum_over_its_topics(readings: Readings, groups: dict[str, str]) -> None:
    parts = [readings.totals(groups[name]) for name in ("open", "cut", "recreated")]
    found = readings.totals(groups["all"])
    tool = readings.tool[groups["all"]].values()
    for key in ("lag", "partitions_behind", "uncommitted_partitions", "messages_lost"):
        assert found[key] == sum(part[key] for part in parts), key
    assert found["lag"] == sum(max(0, lag) for _, lag in tool)
    assert (found["note"], readings.uncommitted.code) == (["data_loss", "beyond_end"], 0)


# Topics that the user may not describe.


@pytest.fixture(scope="module")
def hidden_topic(secured: SecuredBroker) -> str:
    """Return a topic with 8 records that only the operator and anonymous clients may describe."""
    name = make_topic(secured.bootstrap, records=8)
    secured.allow("ANONYMOUS", AclOperation.ALL, name)
    return name


def _lag(secured: SecuredBroker, *arguments: str) -> Outcome:
    return run("lag", *arguments, *secured.flags(USER), bootstrap=None)


def test_commits_on_a_hidden_topic_are_missing_from_the_totals_without_an_error(
    secured: SecuredBroker, hidden_topic: str
) -> None:
    topic = make_topic(secured.bootstrap, records=8)
    with simple(secured.bootstrap, commits=[(topic, 0, 3), (hidden_topic, 0, 1)]) as group:
        wait_until(lambda: " 5 " in _lag(secured, group).stdout, lambda: f"{hidden_topic} is not hidden")
        outcome = _lag(secured, group, "--by", "topic", "--format", "json")
        whole = run_command(secured.bootstrap, "lag", group, "--format", "json")
    (found,) = json.loads(outcome.stdout)["groups"]
    assert (found["lag"], [row["topic"] for row in found["rows"]]) == (5, [topic])
    assert (outcome.stderr, outcome.exit_code) == ("", 0)
    assert [each["lag"] for each in whole.json["groups"]] == [12]


def test_a_member_of_a_hidden_topic_makes_the_group_incomplete_and_is_an_error(
    secured: SecuredBroker, hidden_topic: str
) -> None:
    topic = make_topic(secured.bootstrap, records=8)
    with stable(secured.bootstrap, hidden_topic, topic, commits=[(topic, 0, 3)]) as group:
        wait_until(lambda: _lag(secured, group).exit_code == 3, lambda: f"{hidden_topic} is not hidden")
        outcome = _lag(secured, group)
    header, row = (line.split() for line in outcome.stdout.splitlines())
    found = dict(zip(header, row, strict=True))
    assert (found["LAG"], found["UNCOMMITTED"], found["NOTE"]) == ("5", "1", "incomplete")
    assert f"partition {hidden_topic}-0: " in outcome.stderr
    assert "(TOPIC_AUTHORIZATION_FAILED)" in outcome.stderr
