"""A kind of group that Kafka does not have: its record, handler and views are all that the commands need for it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pytest

from kafka_groups import kinds
from kafka_groups.admin.api_handler import ApiResult
from kafka_groups.admin.handlers.kind_handlers import DESCRIBE_HANDLERS
from kafka_groups.admin.lookup import add_group_error
from kafka_groups.errors import AdminError
from kafka_groups.kinds import Kind, Offsets, Operation
from kafka_groups.model import Failure, GroupDescription, Member
from kafka_groups.protocol import INT16, INT32, STRING, Array, Field, Struct, messages
from kafka_groups.protocol.schema import Api
from kafka_groups.rendering.views.kind_views import CONSUMER_VIEWS, KIND_VIEWS
from kafka_groups.rendering.views.list_groups import GROUP, STATE
from tests.fakes import scripted_broker
from tests.fakes.command_line import Outcome, run
from tests.fakes.reactions import ReceivedRequest
from tests.fakes.scripted_cluster import Group, ScriptedCluster

_MEMBER: Final = (Field("member_id", STRING), Field("client_id", STRING), Field("client_host", STRING))
QUEUE_GROUP_DESCRIBE: Final = Api(
    key=1000,
    name="QueueGroupDescribe",
    lowest=0,
    highest=0,
    flexible_since=0,
    throttle_since=0,
    request=(Field("group_ids", Array(STRING)),),
    response=(
        Field("throttle_time_ms", INT32),
        Field(
            "groups",
            Array(
                (
                    Field("error_code", INT16),
                    Field("error_message", STRING, nullable_since=0, default=None),
                    Field("group_id", STRING),
                    Field("group_state", STRING),
                    Field("members", Array(_MEMBER)),
                )
            ),
        ),
    ),
)
QUEUE: Final = Kind(
    "queue",
    "Queue",
    frozenset({"queue"}),
    ("Stable", "Empty"),
    frozenset({Operation.DESCRIBE}),
    offsets=Offsets.NONE,
    has_epochs=True,
)


QUEUE_STATE: Final = CONSUMER_VIEWS.tables["state"]._replace(columns=lambda _rows, _style: (GROUP, STATE))
QUEUE_VIEWS: Final = CONSUMER_VIEWS._replace(tables={**CONSUMER_VIEWS.tables, "state": QUEUE_STATE})


class DescribeQueueGroupsHandler:
    """Group ids to descriptions of queue groups."""

    api = QUEUE_GROUP_DESCRIBE
    idempotent = True

    def build_requests(self, keys: Sequence[str], version: int) -> list[tuple[Sequence[str], Mapping[str, Any]]]:
        return [(keys, {"group_ids": list(keys)})]

    def handle_response(self, keys: Sequence[str], version: int, payload: bytes) -> ApiResult[str, GroupDescription]:
        result: ApiResult[str, GroupDescription] = ApiResult()
        for group in QUEUE_GROUP_DESCRIBE.read_response(version, payload)["groups"]:
            if group["error_code"]:
                add_group_error(result, group["group_id"], group["error_code"], group["error_message"])
                continue
            members = tuple(
                Member(member["member_id"], None, member["client_id"], member["client_host"], ())
                for member in group["members"]
            )
            result.completed[group["group_id"]] = GroupDescription(
                group["group_id"], "Queue", group["group_state"], "queue", None, members=members
            )
        return result

    def to_failure(self, key: str, error: AdminError, broker: int | None) -> Failure:
        return Failure.of(error, group=key, broker=broker)


class QueueCluster(ScriptedCluster):
    """A cluster whose brokers have queue groups."""

    def _respond_QueueGroupDescribe(self, request: ReceivedRequest) -> Struct:
        return {"groups": [self._queue(request.broker, name) for name in request.body["group_ids"]]}

    def _queue(self, broker: int, name: str) -> Struct:
        group = self.groups.get(name)
        fault = self._fault(group, broker, of_type="Queue")
        row: Struct = {"group_id": name, "error_code": fault, "group_state": "", "members": []}
        return row if group is None or fault else {**row, "group_state": group.state, "members": group.members}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[QueueCluster]:
    """A queue group beside a classic one, at brokers that have the API of queue groups."""
    monkeypatch.setattr(kinds, "KINDS", (*kinds.KINDS, QUEUE))
    monkeypatch.setitem(DESCRIBE_HANDLERS, QUEUE, DescribeQueueGroupsHandler)
    monkeypatch.setitem(KIND_VIEWS, QUEUE, lambda: QUEUE_VIEWS)
    monkeypatch.setattr("tests.fakes.scripted_broker.ALL", (*messages.ALL, QUEUE_GROUP_DESCRIBE))
    monkeypatch.setitem(scripted_broker.APIS, 1000, QUEUE_GROUP_DESCRIBE)
    caches = (kinds.find_kind, kinds._spellings)
    for cache in caches:
        cache.cache_clear()
    member = {"member_id": "q-1", "client_id": "c", "client_host": "/10.0.0.1"}
    groups = {
        "orders": Group(coordinator=1, state="Empty", commits={("t", 0): 5}),
        "tasks": Group(coordinator=2, type="Queue", protocol_type="queue", members=[member]),
    }
    versions = {"QueueGroupDescribe": (0, 0)}
    with QueueCluster(brokers=2, groups=groups, topics={"t": {0: 1}}, versions=versions) as running:
        yield running
    for cache in caches:
        cache.cache_clear()


def run_on(cluster: QueueCluster, *arguments: str) -> Outcome:
    """Run a command on the cluster."""
    return run(*arguments, bootstrap=str(cluster.brokers[1].endpoint))


def test_it_is_listed_and_selected_by_its_type(cluster: QueueCluster) -> None:
    assert run_on(cluster, "list", "--type", "queue").stdout == "GROUP  TYPE\ntasks  Queue\n"
    assert "did you mean 'Queue'?" in run_on(cluster, "list", "--type", "quee").stderr


@pytest.mark.parametrize("selector", [("tasks",), ("--type", "Queue", "--all-groups"), ("--match", "ta.*")])
def test_it_is_described_by_its_api(cluster: QueueCluster, selector: tuple[str, ...]) -> None:
    outcome = run_on(cluster, "describe", *selector, "--members")
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    assert outcome.stdout.splitlines()[-1].split()[:2] == ["tasks", "q-1"]
    (request,) = cluster.requests_of("QueueGroupDescribe")
    assert request.body == {"group_ids": ["tasks"]}


def test_it_stands_beside_other_kinds_in_one_document(cluster: QueueCluster) -> None:
    groups = json.loads(run_on(cluster, "describe", "--all-groups", "--format", "json").stdout)["groups"]
    assert [(group["group"], group["type"], group["state"]) for group in groups] == [
        ("orders", "Classic", "Empty"),
        ("tasks", "Queue", "Stable"),
    ]


@pytest.mark.parametrize("command", [("offsets", "--all-groups"), ("lag",)])
def test_it_is_skipped_by_commands_that_do_not_support_it(cluster: QueueCluster, command: tuple[str, ...]) -> None:
    outcome = run_on(cluster, *command)
    assert outcome.exit_code == 0
    assert outcome.stderr == "1 group of another kind is skipped (queue).\n"
    assert "tasks" not in outcome.stdout


def test_it_is_not_deleted_unless_the_user_says_so(cluster: QueueCluster) -> None:
    cluster.groups["tasks"].state = "Empty"
    cluster.groups["tasks"].members = ()
    outcome = run_on(cluster, "delete", "--all-groups", "--dry-run")
    assert [line.split()[0] for line in outcome.stdout.splitlines()] == ["GROUP", "orders"]
    assert "1 group of another kind is skipped (queue)." in outcome.stderr


def test_its_table_has_the_columns_of_its_view(cluster: QueueCluster) -> None:
    lines = run_on(cluster, "describe", "--all-groups", "--state").stdout.splitlines()
    assert [line.split() for line in lines if line.startswith(("GROUP", "tasks"))][-2:] == [
        ["GROUP", "STATE"],
        ["tasks", "Stable"],
    ]
