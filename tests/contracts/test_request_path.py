"""The path of one request: how many files of the package it takes, and how many rounds to the brokers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import FrameType

import pytest
from click.testing import CliRunner

import kafka_groups
from kafka_groups.admin import handlers
from kafka_groups.admin.network.connection_pool import BrokerPool
from kafka_groups.admin.network.request import Request, Response
from kafka_groups.cli import cli
from kafka_groups.protocol import Struct
from tests.fakes.scripted_cluster import Group, ScriptedCluster, topic_id

PACKAGE = str(Path(kafka_groups.__file__).parent)
# Modules and handlers that the command imports when it runs: the files are counted after imports.
LAZY = ("kafka_groups.admin.describer", "kafka_groups.commands.describe", "kafka_groups.rendering.writers.table")
LAZY_HANDLERS = ("ListConsumerGroupOffsetsHandler", "ListOffsetsHandler")
# The connection has files of its own for its set-up time and for the encoding of requests; before it had 330 lines.
# Checks of connections open the same channels, and descriptions may have the operations of the user.
# SIGTERM ends programs that print tokens with the command.
MAX_FILES = 56
FILES = {
    "acl_operations.py",
    "admin/api.py",
    "admin/client.py",
    "admin/cluster_client.py",
    "admin/describer.py",
    "admin/driver.py",
    "admin/event_loop.py",
    "admin/handlers/describe_consumer_groups.py",
    "admin/handlers/group_batches.py",
    "admin/handlers/kind_handlers.py",
    "admin/handlers/list_consumer_group_offsets.py",
    "admin/handlers/list_offsets.py",
    "admin/handlers/member_assignment.py",
    "admin/key_records.py",
    "admin/lookup.py",
    "admin/network/bootstrap.py",
    "admin/network/channel.py",
    "admin/network/channel_factory.py",
    "admin/network/connection.py",
    "admin/network/connection_pool.py",
    "admin/network/handshake.py",
    "admin/network/request_encoder.py",
    "admin/network/selector.py",
    "admin/network/session.py",
    "admin/network/setup_timer.py",
    "admin/offset_lister.py",
    "admin/topic_client.py",
    "cli.py",
    "commands/describe.py",
    "groups/descriptions.py",
    "groups/lag/rows.py",
    "groups/log_offsets.py",
    "groups/selection.py",
    "kinds.py",
    "model.py",
    "options/cluster_session.py",
    "options/connection.py",
    "options/output.py",
    "options/parameters.py",
    "options/selectors.py",
    "options/signals.py",
    "protocol/errors.py",
    "protocol/packed_offsets.py",
    "protocol/primitives.py",
    "protocol/schema.py",
    "rendering/columns.py",
    "rendering/screen.py",
    "rendering/views/describe.py",
    "rendering/views/group_views.py",
    "rendering/views/kind_views.py",
    "rendering/views/partition_lag.py",
    "rendering/writers/cells.py",
    "rendering/writers/table.py",
    "settings/connection.py",
    "settings/sources.py",
    "settings/values.py",
}
MAX_ROUNDS = 4


def member() -> Struct:
    """Return a member that owns both partitions of the topic."""
    assignment = {"topic_partitions": [{"topic_id": topic_id("t"), "topic_name": "t", "partitions": [0, 1]}]}
    return {
        "member_id": "m",
        "member_epoch": 4,
        "client_id": "c",
        "client_host": "/h",
        "subscribed_topic_names": ["t"],
        "assignment": assignment,
        "target_assignment": assignment,
    }


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    """Three brokers, a classic group at the first and a KIP-848 group at the second."""
    groups = {
        "classic": Group(coordinator=1, state="Empty", commits={("t", 0): 5}),
        "new": Group(coordinator=2, type="Consumer", commits={("t", 0): 5, ("t", 1): 7}, members=[member()]),
    }
    with ScriptedCluster(brokers=3, groups=groups, topics={"t": {0: 1, 1: 2}}) as cluster:
        yield cluster


def describe_both(cluster: ScriptedCluster) -> set[str]:
    """Describe both groups, and return the files of the package whose functions ran."""
    files: set[str] = set()

    def profile(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGE) and frame.f_code.co_name != "<module>":
            files.add(Path(frame.f_code.co_filename).relative_to(PACKAGE).as_posix())

    for module in LAZY:
        import_module(module)
    for name in LAZY_HANDLERS:
        getattr(handlers, name)
    sys.setprofile(profile)
    try:
        result = CliRunner().invoke(cli, ["describe", "classic", "new", "-b", str(cluster.brokers[1].endpoint)])
    finally:
        sys.setprofile(None)
    assert result.exit_code == 0
    assert [line.split()[0] for line in result.stdout.splitlines() if line] == [
        "GROUP",
        "classic",
        "GROUP",
        "new",
        "new",
    ]
    return files


def test_a_describe_of_two_groups_runs_functions_of_these_files(cluster: ScriptedCluster) -> None:
    assert describe_both(cluster) == FILES
    assert len(FILES) <= MAX_FILES


def test_a_describe_of_two_groups_takes_at_most_four_rounds(
    cluster: ScriptedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds: list[set[str]] = [set()]
    submit, poll = BrokerPool.submit, BrokerPool.poll

    def submit_in_round(pool: BrokerPool, broker: int, request: Request) -> list[Response]:
        # Requests of the pool itself set the connection up.
        if request.token is not pool:
            rounds[-1].add(request.api.name)
        return submit(pool, broker, request)

    def poll_ends_round(pool: BrokerPool, until: float) -> list[Response]:
        responses = poll(pool, until)
        if responses and rounds[-1]:
            rounds.append(set())
        return responses

    monkeypatch.setattr(BrokerPool, "submit", submit_in_round)
    monkeypatch.setattr(BrokerPool, "poll", poll_ends_round)
    describe_both(cluster)
    sent = [apis for apis in rounds if apis]
    assert sent == [
        {"FindCoordinator"},
        {"ConsumerGroupDescribe", "DescribeGroups", "OffsetFetch"},
        {"Metadata"},
        {"ListOffsets"},
    ]
    assert len(sent) <= MAX_ROUNDS
    assert cluster.requests() == {
        "FindCoordinator": 1,
        "ConsumerGroupDescribe": 2,
        "DescribeGroups": 2,
        "OffsetFetch": 2,
        "Metadata": 1,
        "ListOffsets": 2,
    }
