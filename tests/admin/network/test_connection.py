"""One connection: the agreed versions, and responses that belong to their requests."""

from __future__ import annotations

import struct
import time
from collections.abc import Mapping
from typing import Any

import pytest

from kafka_groups.admin.network.channel import Channel
from kafka_groups.admin.network.connection import Connection
from kafka_groups.admin.network.handshake import Handshake, agreed_version
from kafka_groups.admin.network.request import Request, Response
from kafka_groups.errors import (
    AdminError,
    ConnectionFailedError,
    MalformedResponseError,
    UnsupportedVersionError,
)
from kafka_groups.protocol import Struct
from kafka_groups.protocol.messages import API_VERSIONS, FIND_COORDINATOR, LIST_GROUPS, OFFSET_FETCH
from kafka_groups.settings import Endpoint
from tests.fakes.raw_port import accepting_only, after_frames, responding
from tests.fakes.reactions import changed, drops, garbage
from tests.fakes.scripted_broker import ScriptedBroker, encode_response

pytestmark = pytest.mark.timeout(20)

LISTED: Struct = {"groups": []}


def _connect(endpoint: Endpoint, *, setup_timeout_s: float = 30.0) -> Connection:
    return Connection(
        endpoint,
        handshake=Handshake("tester"),
        make_channel=lambda addresses, _host: Channel(addresses),
        setup_timeout_s=setup_timeout_s,
        now=time.monotonic(),
        resolve=lambda _endpoint: [],
        wakeup=lambda: None,
    )


def _listing(token: Any = None, *parts: Any) -> Request:
    bodies: list[tuple[Any, Mapping[str, Any]]] = [(part, {}) for part in parts or ("all",)]
    return Request(api=LIST_GROUPS, bodies=lambda _version: bodies, token=token)


def _advance(connection: Connection, *, responses: int) -> list[Response]:
    taken: list[Response] = []
    until = time.monotonic() + 30
    while len(taken) < responses:
        taken += connection.advance(time.monotonic())
        assert time.monotonic() < until, f"{len(taken)} of {responses} responses arrived"
        time.sleep(0.001)
    return taken


def _agree(connection: Connection) -> None:
    while connection.versions is None:
        connection.advance(time.monotonic())
        time.sleep(0.001)


def _loss(endpoint: Endpoint, *, setup_timeout_s: float = 30.0) -> AdminError:
    connection = _connect(endpoint, setup_timeout_s=setup_timeout_s)
    with pytest.raises(AdminError) as caught:
        _agree(connection)
    connection.close(caught.value)
    return caught.value


def _frames(*bodies: tuple[int, bytes]) -> bytes:
    return b"".join(struct.pack(">ii", len(body) + 4, correlation) + body for correlation, body in bodies)


# The response to the first request, ApiVersions in version 3.
VERSIONS = _frames(
    (1, encode_response(API_VERSIONS, 3, {"api_keys": [{"api_key": 16, "min_version": 0, "max_version": 5}]}))
)


def test_versions_are_agreed_before_the_first_request() -> None:
    with ScriptedBroker(lambda _request: LISTED) as broker:
        connection = _connect(broker.endpoint)
        connection.submit(_listing("first"), time.monotonic())
        response = _advance(connection, responses=1)[0]
        assert (response.request.token, response.part, response.version, response.error) == ("first", "all", 5, None)
        assert LIST_GROUPS.read_response(response.version, response.payload)["groups"] == []
        assert [(received.api, received.version) for received in broker.received] == [
            ("ApiVersions", 3),
            ("ListGroups", 5),
        ]
        assert {received.client_id for received in broker.received} == {"tester"}
        assert broker.received[0].body["client_software_name"] == "kafka-groups"
        assert connection.sent == {("ApiVersions", 3): 1, ("ListGroups", 5): 1}
        connection.close(ConnectionFailedError("closed"))


def test_a_broker_that_supports_only_the_first_version_of_api_versions_gets_that_one() -> None:
    with ScriptedBroker(lambda _request: LISTED, versions={"ApiVersions": (0, 0), "ListGroups": (0, 1)}) as broker:
        connection = _connect(broker.endpoint)
        connection.submit(_listing(), time.monotonic())
        assert _advance(connection, responses=1)[0].version == 1
        sent = [("ApiVersions", 3), ("ApiVersions", 0), ("ListGroups", 1)]
        assert [(received.api, received.version) for received in broker.received] == sent
        assert connection.sent == dict.fromkeys(sent, 1)
        connection.close(ConnectionFailedError("closed"))


def test_bodies_are_built_for_the_version_that_both_sides_support() -> None:
    seen: list[int] = []

    def bodies(version: int) -> list[tuple[Any, Mapping[str, Any]]]:
        seen.append(version)
        return [(None, {"coordinator_keys": ["a"]})]

    with ScriptedBroker(lambda _request: {}, versions={"FindCoordinator": (0, 4)}) as broker:
        connection = _connect(broker.endpoint)
        connection.submit(Request(api=FIND_COORDINATOR, bodies=bodies, token=None), time.monotonic())
        _advance(connection, responses=1)
        assert seen == [4]
        connection.close(ConnectionFailedError("closed"))


def test_a_request_that_this_version_cannot_express_fails_and_others_are_sent() -> None:
    def refuse(version: int) -> list[tuple[Any, Mapping[str, Any]]]:
        msg = f"not in {version}"
        raise UnsupportedVersionError(msg)

    with ScriptedBroker(lambda _request: LISTED) as broker:
        connection = _connect(broker.endpoint)
        connection.submit(Request(api=OFFSET_FETCH, bodies=refuse, token="old"), time.monotonic())
        connection.submit(_listing("new"), time.monotonic())
        responses = {response.request.token: response for response in _advance(connection, responses=2)}
        assert str(responses["old"].error) == "not in 9"
        assert responses["old"].part is None
        assert responses["new"].error is None
        late = connection.submit(Request(api=OFFSET_FETCH, bodies=refuse, token="late"), time.monotonic())
        assert [str(response.error) for response in late] == ["not in 9"]
        connection.close(ConnectionFailedError("closed"))


def test_responses_are_matched_to_their_requests_in_any_order() -> None:
    def response_for(correlation: int, group: str) -> tuple[int, bytes]:
        return correlation, encode_response(LIST_GROUPS, 5, {"groups": [{"group_id": group}]})

    swapped = _frames(response_for(3, "second"), response_for(2, "first"))
    with responding(after=0, then=after_frames((1, VERSIONS), (2, swapped))) as endpoint:
        connection = _connect(endpoint)
        connection.submit(_listing("token", "one", "two"), time.monotonic())
        responses = _advance(connection, responses=2)
        groups = [
            LIST_GROUPS.read_response(response.version, response.payload)["groups"][0]["group_id"]
            for response in responses
        ]
        assert [response.part for response in responses] == ["two", "one"]
        assert groups == ["second", "first"]
        connection.close(ConnectionFailedError("closed"))


def test_a_response_with_an_unknown_correlation_id_ends_the_connection() -> None:
    with responding(_frames((77, b"12345678"))) as endpoint:
        error = _loss(endpoint)
    assert type(error) is MalformedResponseError
    assert str(error) == "received a response with an unknown correlation ID"


def test_a_response_before_an_unknown_one_is_returned_before_the_connection_ends() -> None:
    body = encode_response(LIST_GROUPS, 5, LISTED)
    stray = _frames((2, body), (99, body))
    with responding(after=0, then=after_frames((1, VERSIONS), (1, stray))) as endpoint:
        connection = _connect(endpoint)
        connection.submit(_listing("sent"), time.monotonic())
        assert [response.request.token for response in _advance(connection, responses=1)] == ["sent"]
        with pytest.raises(MalformedResponseError, match="unknown correlation ID"):
            connection.advance(time.monotonic())
        assert connection.close(ConnectionFailedError("closed")) == []


def test_a_malformed_api_versions_response_is_not_kafkas() -> None:
    with ScriptedBroker() as broker:
        broker.script("ApiVersions", garbage)
        error = _loss(broker.endpoint)
    assert type(error) is MalformedResponseError
    assert str(error) == "the peer does not speak Kafka's protocol; check host and port"


def test_a_refused_api_versions_request_is_reported_with_the_code() -> None:
    with ScriptedBroker() as broker:
        broker.script("ApiVersions", changed(error_code=58))
        error = _loss(broker.endpoint)
    assert str(error) == "the broker refused the ApiVersions request (error 58)"


def test_a_closed_connection_returns_every_outstanding_request_with_the_error() -> None:
    with ScriptedBroker(lambda _request: LISTED) as broker:
        broker.script("ListGroups", drops)
        connection = _connect(broker.endpoint)
        connection.submit(_listing("token", "one", "two"), time.monotonic())
        with pytest.raises(ConnectionFailedError) as caught:
            _advance(connection, responses=1)
        lost = connection.close(caught.value)
        assert sorted((response.part, str(response.error)) for response in lost) == [
            ("one", "closed the connection"),
            ("two", "closed the connection"),
        ]


def test_requests_that_waited_for_versions_are_returned_whole() -> None:
    with accepting_only() as endpoint:
        connection = _connect(endpoint)
        connection.submit(_listing("first"), time.monotonic())
        connection.submit(_listing("second"), time.monotonic())
        lost = connection.close(ConnectionFailedError("closed"))
        assert [(response.request.token, response.part, response.version) for response in lost] == [
            ("first", None, -1),
            ("second", None, -1),
        ]


def test_the_setup_timeout_ends_with_the_handshake() -> None:
    with ScriptedBroker(lambda _request: LISTED) as broker:
        connection = _connect(broker.endpoint, setup_timeout_s=30.0)
        assert connection.wakes_at() is not None
        _agree(connection)
        assert connection.wakes_at() is None
        assert connection.advance(time.monotonic() + 3600) == []
        connection.close(ConnectionFailedError("closed"))


@pytest.mark.parametrize(
    ("offered", "agreed"), [((0, 5), 5), ((0, 99), 5), ((3, 3), 3), ((5, 9), 5)], ids=["same", "newer", "one", "edge"]
)
def test_the_newest_version_of_both_sides_is_used(offered: tuple[int, int], agreed: int) -> None:
    assert agreed_version({LIST_GROUPS.key: offered}, LIST_GROUPS) == agreed


@pytest.mark.parametrize(
    ("versions", "message"),
    [
        ({}, "the broker does not support ListGroups; this tool needs version 0 to 5"),
        ({LIST_GROUPS.key: (6, 8)}, "the broker supports ListGroups versions 6 to 8; this tool needs version 0 to 5"),
    ],
)
def test_without_a_common_version_both_ranges_are_reported(versions: dict[int, tuple[int, int]], message: str) -> None:
    with pytest.raises(UnsupportedVersionError) as caught:
        agreed_version(versions, LIST_GROUPS)
    assert str(caught.value) == message
