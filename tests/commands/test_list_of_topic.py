"""`kafka-groups list --topic`: the groups that have commits on a topic, or members that own partitions of it."""

from __future__ import annotations

import json
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from tests.fakes.command_line import run
from tests.fakes.fake_admin import FakeCluster, failure, member, unreachable
from tests.fakes.fake_terminal import pretend_terminal

if TYPE_CHECKING:
    from pytest_mock import MockerFixture


@pytest.fixture(autouse=True)
def groups(cluster: FakeCluster) -> None:
    """Add groups with commits, with members, with both, and with neither."""
    cluster.add("both", state="Stable", members=[member("m1", {"t": (0, 1)}), member("m2", {"u": (0,)})])
    cluster.add("committed", commits={("t", 0): 5, ("t", 1): 5, ("gone", 0): 1})
    cluster.add("new", kind="Consumer", state="Stable", members=[member("m", {"t": (1,)})], commits={("t", 1): 5})
    cluster.add("other", commits={("u", 0): 5})
    cluster.add("unset", commits={("t", 0): None})
    cluster.add("connect-sink", state="Stable", protocol_type="connect")
    cluster.end("t", 9, 9)
    cluster.end("u", 9)


NOTE = "1 group of another kind is skipped (connect).\n"


def test_groups_with_commits_or_members_are_listed_with_both_numbers() -> None:
    screen = dedent("""\
        GROUP      STATE   MEMBERS  COMMITTED-PARTITIONS
        both       Stable        1                     0
        committed  Empty         0                     2
        new        Stable        1                     1
        """)
    assert run("list", "--topic", "t") == (0, screen, NOTE)


def test_partitions_narrow_the_topic() -> None:
    screen = dedent("""\
        GROUP      STATE   MEMBERS  COMMITTED-PARTITIONS
        both       Stable        1                     0
        committed  Empty         0                     1
        """)
    assert run("list", "--topic", "t:0") == (0, screen, NOTE)


def test_a_group_is_listed_if_it_reads_one_of_several_topics() -> None:
    lines = run("list", "--topic", "t:0", "--topic", "u", "-q").stdout.splitlines()
    assert lines == ["both", "committed", "other"]


def test_ids_alone_are_for_xargs() -> None:
    assert run("list", "--topic", "u", "-q") == (0, "both\nother\n", NOTE)
    assert run("list", "--topic", "u", "-q", "-0") == (0, "both\0other\0", NOTE)


def test_verbose_and_type_add_their_columns() -> None:
    screen = dedent("""\
        GROUP  TYPE      STATE   PROTOCOL  MEMBERS  COMMITTED-PARTITIONS
        new    Consumer  Stable  consumer        1                     1
        """)
    assert run("list", "new", "--topic", "t", "--verbose", "--type", "--state") == (0, screen, "")


def test_states_and_types_narrow_the_groups() -> None:
    assert run("list", "--topic", "t", "--state", "Stable", "-q").stdout == "both\nnew\n"
    assert run("list", "--topic", "t", "--type", "Consumer", "-q").stdout == "new\n"
    assert run("list", "--topic", "t", "--exclude", "b.*", "--match", "[bc].*", "-q").stdout == "committed\n"


def test_csv_has_all_columns() -> None:
    screen = dedent("""\
        GROUP,TYPE,STATE,PROTOCOL,MEMBERS,COMMITTED-PARTITIONS
        committed,Classic,Empty,consumer,0,2
        """)
    assert run("list", "committed", "--topic", "t", "--format", "csv") == (0, screen, "")


def test_json_and_ndjson_have_all_keys() -> None:
    group = {
        "cluster": "fake",
        "cluster_id": "fake",
        "group": "committed",
        "type": "Classic",
        "state": "Empty",
        "protocol_type": "consumer",
        "members": 0,
        "committed_partitions": 2,
    }
    outcome = run("list", "committed", "--topic", "t", "--format", "json")
    assert json.loads(outcome.stdout)["groups"] == [group]
    assert json.loads(run("list", "committed", "--topic", "t", "--format", "ndjson").stdout) == group


def test_a_terminal_has_the_same_columns(mocker: MockerFixture) -> None:
    pretend_terminal(mocker)
    lines = run("list", "committed", "--topic", "t").stdout.splitlines()
    assert [line.split() for line in lines] == [
        ["GROUP", "STATE", "MEMBERS", "COMMITTED-PARTITIONS"],
        ["committed", "Empty", "0", "2"],
    ]


def test_it_takes_one_round_of_batched_requests(cluster: FakeCluster) -> None:
    run("list", "--topic", "t")
    calls = [call[0] for call in cluster.admin.method_calls if call[0] not in {"brokers", "deadline", "__exit__"}]
    assert calls == ["list_partitions", "list_groups", "describe_with_offsets"]


def test_a_topic_that_no_group_reads_is_a_note(cluster: FakeCluster) -> None:
    cluster.end("quiet", 1)
    nothing = "No group has commits on the topic, or members that own partitions of it.\n"
    header = "GROUP  STATE  MEMBERS  COMMITTED-PARTITIONS\n"
    assert run("list", "--topic", "quiet") == (0, header, NOTE + nothing)
    assert run("list", "--topic", "quiet", "--match", "nope.*") == (0, header, "No group matches.\n")


def test_an_absent_topic_is_an_error() -> None:
    outcome = run("list", "--topic", "nope")
    assert (outcome.exit_code, outcome.stdout) == (1, "")
    assert outcome.stderr == f"{NOTE}Error: topic 'nope': the topic does not exist (UNKNOWN_TOPIC_OR_PARTITION)\n"
    assert run("list", "--topic", "nope", "--topic", "t").exit_code == 3


def test_groups_with_commits_on_a_deleted_topic_are_listed() -> None:
    outcome = run("list", "--topic", "gone", "-q")
    assert (outcome.exit_code, outcome.stdout) == (3, "committed\n")


def test_an_absent_partition_is_an_error() -> None:
    outcome = run("list", "--topic", "t:7")
    assert outcome.exit_code == 1
    assert outcome.stderr == f"{NOTE}Error: partition t-7: it does not exist (UNKNOWN_TOPIC_OR_PARTITION)\n"
    assert run("list", "--topic", "t:0,7").exit_code == 3


def test_a_group_that_cannot_be_read_is_an_error(cluster: FakeCluster) -> None:
    cluster.unfetchable["committed"] = failure(group="committed")
    outcome = run("list", "--topic", "t", "--format", "json")
    document = json.loads(outcome.stdout)
    assert (outcome.exit_code, document["status"]) == (3, "partial")
    assert [group["group"] for group in document["groups"]] == ["both", "new"]
    assert [error["group"] for error in document["errors"]] == ["committed"]


def test_a_cluster_that_cannot_be_reached_is_exit_code_1(cluster: FakeCluster) -> None:
    cluster.refuse(unreachable())
    assert run("list", "--topic", "t") == (1, "", "Error: no broker responded at b1:9092; is it running?\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--format", "kafka"), "--topic contradicts --format kafka: Kafka's tool lists no groups of a topic"),
        (("-q", "--verbose"), "-q prints bare ids and contradicts --verbose; remove one of them"),
        (("--topic", "t:x"), "--topic 't:x': 'x' is not a partition; write partitions as orders:0,1"),
    ],
)
def test_options_that_cannot_be_used_are_usage_errors(arguments: tuple[str, ...], message: str) -> None:
    outcome = run("list", "--topic", "t", *arguments)
    assert outcome == (2, "", f"Error: {message}; see kafka-groups list --help\n")
