"""Changes whose response was lost: they are not sent again, and what was not sent in time is never sent."""

from __future__ import annotations

import socket
from collections.abc import Callable

import pytest

from kafka_groups.admin import GroupAdmin, MemberIdentity, change_client, driver
from kafka_groups.admin.handlers import record_sizes
from kafka_groups.admin.network import channel
from kafka_groups.admin.network.connection import _MAX_IN_FLIGHT
from kafka_groups.errors import AdminError, ConnectionFailedError, OutcomeUnknownError
from kafka_groups.model import CommittedOffset, Failure
from kafka_groups.protocol import Struct
from tests.fakes.reactions import ReceivedRequest, delayed, drops, garbage, plain, silent, throttled
from tests.fakes.scripted_cluster import Group, ScriptedCluster

pytestmark = pytest.mark.timeout(30)

START = CommittedOffset(0, None, "")
MEMBER = MemberIdentity("m", None)
Change = Callable[[GroupAdmin, float], object]


def _alter(admin: GroupAdmin, timeout: float = 5.0) -> dict[str, Failure]:
    return dict(admin.alter_consumer_group_offsets({"a": {("t", 0): START}}, timeout=timeout).failed)


CHANGES = pytest.mark.parametrize(
    ("api", "change"),
    [
        ("OffsetCommit", _alter),
        (
            "OffsetDelete",
            lambda admin, at=5.0: admin.delete_consumer_group_offsets({"a": [("t", 0)]}, timeout=at).failed,
        ),
        ("DeleteGroups", lambda admin, at=5.0: admin.delete_consumer_groups(["a"], timeout=at).failed),
        (
            "LeaveGroup",
            lambda admin, at=5.0: admin.remove_members_from_consumer_group({"a": [MEMBER]}, timeout=at).failed,
        ),
    ],
    ids=["OffsetCommit", "OffsetDelete", "DeleteGroups", "LeaveGroup"],
)


def _cluster(**groups: Group) -> ScriptedCluster:
    known = groups or {"a": Group(coordinator=2, state="Empty", commits={("t", 0): 5})}
    return ScriptedCluster(groups=known, topics={"t": {0: 1}})


@CHANGES
def test_a_connection_that_is_lost_after_the_request_makes_the_outcome_unknown(api: str, change: Change) -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script(api, drops)
        failed = change(admin, 5.0)
        assert len(cluster.requests_of(api)) == 1
        assert isinstance(failed, dict)
        failure = failed["a"]
        name = f"broker 2 ({cluster.brokers[2].endpoint})"
    assert (failure.name, failure.code, failure.group, failure.broker) == ("OUTCOME_UNKNOWN", None, "a", 2)
    assert failure.message == (
        f"the outcome is unknown: {name}: closed the connection; check the group before you repeat the change"
    )


@CHANGES
def test_a_deadline_after_the_request_makes_the_outcome_unknown(api: str, change: Change) -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script(api, silent, silent)
        started = cluster.clock()
        failed = change(admin, 0.5)
        assert cluster.clock() - started < 2
        admin.list_groups()
        assert len(cluster.requests_of(api)) == 1
        assert isinstance(failed, dict)
    assert failed["a"].name == "OUTCOME_UNKNOWN"
    assert failed["a"].message.startswith("the outcome is unknown: no response within 0.5 s; broker 2 (")


@CHANGES
def test_a_malformed_response_makes_the_outcome_unknown(api: str, change: Change) -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script(api, garbage)
        failed = change(admin, 5.0)
        assert len(cluster.requests_of(api)) == 1
        assert isinstance(failed, dict)
    assert failed["a"].name == "OUTCOME_UNKNOWN"
    assert f"the broker's {api} response is malformed" in failed["a"].message


def test_a_request_that_was_lost_with_others_is_unknown_for_each_of_them() -> None:
    groups = {name: Group(coordinator=1, state="Empty") for name in "abc"}
    with _cluster(**groups) as cluster, cluster.admin() as admin:
        cluster.script("OffsetCommit", plain, drops)
        cluster.brokers[1].hold("OffsetCommit", until=3)
        results = admin.alter_consumer_group_offsets({name: {("t", 0): START} for name in "abc"})
        assert len(cluster.requests_of("OffsetCommit")) == 3
    assert list(results.succeeded) == ["a"]
    assert {group: failure.name for group, failure in results.failed.items()} == {
        "b": "OUTCOME_UNKNOWN",
        "c": "OUTCOME_UNKNOWN",
    }


def test_a_response_that_is_too_large_is_not_requested_again_in_halves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel, "_LARGEST_FRAME", 20_000)
    groups = {name: Group(state="Empty") for name in "abcd"}
    with _cluster(**groups) as cluster, cluster.admin() as admin:
        cluster.script("DeleteGroups", lambda _request, _response: bytes(30_000))
        results = admin.delete_consumer_groups([*groups])
        assert len(cluster.requests_of("DeleteGroups")) == 1
    assert {failure.name for failure in results.failed.values()} == {"OUTCOME_UNKNOWN"}
    assert sorted(results.failed) == ["a", "b", "c", "d"]


def test_names_that_no_request_can_carry_are_still_found_by_halving() -> None:
    groups = {name: Group(state="Empty") for name in "abc"}
    with _cluster(**groups) as cluster, cluster.admin() as admin:
        results = admin.delete_consumer_groups(["a", "b", "x" * 40_000, "c"])
        assert sorted(results.succeeded) == ["a", "b", "c"]
        assert [failure.name for failure in results.failed.values()] == ["INVALID_REQUEST"]
        assert sorted(name for each in cluster.requests_of("DeleteGroups") for name in each.body["groups_names"]) == [
            *"abc"
        ]


def test_a_change_on_a_connection_that_the_broker_closed_before_is_sent_once_on_a_new_one() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        for _ in range(5):
            admin.alter_consumer_group_offsets({"a": {("t", 0): START}}).all()
            cluster.brokers[2].close_connections()
            cluster.clock.sleep(0.01)
        assert len(cluster.requests_of("OffsetCommit")) == 5


def test_a_change_behind_a_handshake_that_fails_is_sent_once_on_a_new_connection() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("ApiVersions", drops, brokers=[2])
        assert _alter(admin) == {}
        assert len(cluster.requests_of("OffsetCommit")) == 1


def test_a_change_at_a_broker_that_refuses_connections_is_not_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "_MAX_BACKOFF_S", 0.1)
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.stop(2)
        assert _alter(admin)["a"].name == "CONNECTION_FAILED"


def test_requests_behind_others_are_not_sent_after_the_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(change_client, "_CHANGE_CONNECTIONS", 1)
    groups = {f"g{number}": Group(coordinator=1, state="Empty") for number in range(_MAX_IN_FLIGHT + 6)}
    with _cluster(**groups) as cluster, cluster.admin() as admin:
        cluster.script("OffsetCommit", delayed(0.9), brokers=[1])
        results = admin.alter_consumer_group_offsets({group: {("t", 0): START} for group in groups}, timeout=0.4)
        names = [results.failed[group].name for group in groups]
        assert names == ["OUTCOME_UNKNOWN"] * _MAX_IN_FLIGHT + ["TIMEOUT"] * 6
        last = results.failed[f"g{_MAX_IN_FLIGHT}"].message
        assert last.startswith("it was not sent within 0.4 s; broker 1 (")
        # The broker responds to all of them before it responds to this request.
        assert admin.list_groups().failed == {}
        assert admin.list_groups().failed == {}
        assert len(cluster.requests_of("OffsetCommit")) == _MAX_IN_FLIGHT


def test_an_interrupted_call_leaves_nothing_that_a_later_call_would_send(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(change_client, "_CHANGE_CONNECTIONS", 1)
    groups = {f"g{number}": Group(coordinator=1, state="Empty") for number in range(_MAX_IN_FLIGHT + 6)}

    def interrupt(_operation: str, _done: int, _total: int) -> None:
        if cluster.requests_of("OffsetCommit"):
            raise KeyboardInterrupt

    with _cluster(**groups) as cluster, cluster.admin(progress=interrupt) as admin:
        cluster.script("OffsetCommit", delayed(0.9), brokers=[1])
        with pytest.raises(KeyboardInterrupt):
            admin.alter_consumer_group_offsets({group: {("t", 0): START} for group in groups}, timeout=3)
        admin._progress = None
        assert admin.list_groups().failed == {}
        assert admin.list_groups().failed == {}
        assert len(cluster.requests_of("OffsetCommit")) == _MAX_IN_FLIGHT


def test_a_change_that_is_throttled_beyond_the_deadline_is_never_sent() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("ListGroups", throttled(700), brokers=[2])
        admin.list_groups()
        failure = _alter(admin, 0.3)["a"]
        cluster.clock.sleep(0.6)
        admin.list_groups()
        assert cluster.requests_of("OffsetCommit") == []
        name = f"broker 2 ({cluster.brokers[2].endpoint})"
    assert failure.name == "TIMEOUT"
    assert failure.message.startswith(f"it was not sent within 0.3 s; {name} throttles this client for another 0.")


def test_a_process_that_was_stopped_beyond_the_deadline_sends_no_change() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("ListGroups", throttled(10_000), brokers=[2])
        admin.list_groups()
        admin._progress = lambda _operation, _done, _total: cluster.clock.sleep(60)
        assert _alter(admin, 1.0)["a"].name == "TIMEOUT"
        admin._progress = None
        admin.list_groups()
        assert cluster.requests_of("OffsetCommit") == []


def test_a_request_that_is_partly_written_is_unknown_and_never_completed(monkeypatch: pytest.MonkeyPatch) -> None:
    # One request that is larger than the buffers of a connection.
    monkeypatch.setattr(record_sizes, "MAX_BATCH_BYTES", 10**9)
    long = CommittedOffset(0, None, "x" * 32_000)

    def read_nothing_for_a_while(request: ReceivedRequest, response: Struct) -> object:
        cluster.clock.sleep(2.0)
        return silent(request, response)

    with _cluster() as cluster, cluster.admin() as admin:
        admin.describe_consumer_groups(["a"])
        cluster.script("DescribeGroups", read_nothing_for_a_while, brokers=[2])
        late = admin.describe_consumer_groups(["a"], timeout=0.4)
        commits = {("t", number): long for number in range(1_000)}
        results = admin.alter_consumer_group_offsets({"a": commits}, timeout=0.4)
        admin.list_groups(timeout=0.1)
        # The broker received the beginning of a request, which is no message.
        cluster.clock.sleep(2.0)
        admin.list_groups(timeout=1.0)
        assert cluster.requests_of("OffsetCommit") == []
        assert len(cluster.brokers[2].faults) == 1
        cluster.brokers[2].faults.clear()
    assert list(late.failed) == ["a"]
    assert results.failed["a"].name == "OUTCOME_UNKNOWN"


def test_the_failure_becomes_the_error_of_its_name() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("DeleteGroups", drops)
        results = admin.delete_consumer_groups(["a"])
    with pytest.raises(AdminError, match="the outcome is unknown: ") as caught:
        results.all()
    assert (type(caught.value), caught.value.name, caught.value.code) == (OutcomeUnknownError, "OUTCOME_UNKNOWN", None)


def test_what_arrived_is_read_before_anything_is_written() -> None:
    ours, theirs = socket.socketpair()
    listener = socket.create_server(("127.0.0.1", 0))
    each = channel.Channel([(socket.AF_INET, listener.getsockname())])
    each.socket.close()
    each.socket, each.is_connected, each.is_open = ours, True, True
    theirs.close()
    each.send(b"\0\0\0\4abcd")
    with pytest.raises(ConnectionFailedError, match="closed the connection"):
        each.advance()
    assert (each.queued, each.written) == (8, 0)
    each.close()
    listener.close()


def test_the_reason_of_an_unknown_outcome_can_be_shown_without_the_advice_once_the_outcome_is_known() -> None:
    cause = ConnectionFailedError("broker 2: closed the connection")
    assert OutcomeUnknownError.reason_of(str(OutcomeUnknownError.because(cause))) == str(cause)


def _not_available(_request: ReceivedRequest, response: Struct) -> Struct:
    """Make the change, and return that the coordinator is not available, as if replicas were late."""
    rows = [{**row, "error_code": 15} for topic in response["topics"] for row in topic["partitions"]]
    return {**response, "topics": [{"name": "t", "partitions": rows}]}


def test_a_change_whose_retries_reach_the_deadline_is_unknown() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("OffsetCommit", *[_not_available] * 50)
        assert [why.name for why in _alter(admin, 1.0).values()] == ["OUTCOME_UNKNOWN"]
