"""Agreeing with one broker on versions, and keeping questions and answers together."""

from __future__ import annotations

import struct
import time
from collections.abc import Mapping
from typing import Any

import pytest

from kafka_groups.admin.network.channel import Channel
from kafka_groups.admin.network.connection import Connection, Request, Response
from kafka_groups.admin.network.handshake import Handshake, agreed_version
from kafka_groups.errors import AdminError, ConnectionFailedError, MalformedResponseError, UnsupportedVersionError
from kafka_groups.protocol import Struct
from kafka_groups.protocol.messages import API_VERSIONS, FIND_COORDINATOR, LIST_GROUPS, OFFSET_FETCH
from kafka_groups.settings import Endpoint
from tests.fakes.raw_port import accepting_only, after_frames, not_taking, speaking
from tests.fakes.scripted_broker import Asked, ScriptedBroker, changed, drops, encode_answer, garbage

pytestmark = pytest.mark.timeout(20)

LISTED: Struct = {"groups": []}


def _connect(endpoint: Endpoint, *, patience_s: float = 5.0) -> Connection:
    return Connection(
        endpoint,
        handshake=Handshake("tester"),
        make_channel=lambda addresses, _host: Channel(addresses),
        patience_s=patience_s,
        now=time.monotonic(),
        resolve=lambda _endpoint: [],
        wake=lambda: None,
    )


def _listing(token: Any = None, *parts: Any) -> Request:
    bodies: list[tuple[Any, Mapping[str, Any]]] = [(part, {}) for part in parts or ("all",)]
    return Request(api=LIST_GROUPS, bodies=lambda _version: bodies, token=token)


def _drive(connection: Connection, *, responses: int) -> list[Response]:
    taken: list[Response] = []
    until = time.monotonic() + 5
    while len(taken) < responses:
        taken += connection.advance(time.monotonic())
        assert time.monotonic() < until, f"{len(taken)} of {responses} responses came"
        time.sleep(0.001)
    return taken


def _agree(connection: Connection) -> None:
    while connection.versions is None:
        connection.advance(time.monotonic())
        time.sleep(0.001)


def _loss(endpoint: Endpoint, *, patience_s: float = 5.0) -> AdminError:
    connection = _connect(endpoint, patience_s=patience_s)
    with pytest.raises(AdminError) as caught:
        _agree(connection)
    connection.abandon(caught.value)
    return caught.value


def _in_pieces(*bodies: tuple[int, bytes]) -> bytes:
    return b"".join(struct.pack(">ii", len(body) + 4, correlation) + body for correlation, body in bodies)


# The answer to the first handler, which asks for versions in version 3.
VERSIONS = _in_pieces(
    (1, encode_answer(API_VERSIONS, 3, {"api_keys": [{"api_key": 16, "min_version": 0, "max_version": 5}]}))
)


def test_versions_are_agreed_on_before_anything_is_asked() -> None:
    with ScriptedBroker(lambda _asked: LISTED) as broker:
        connection = _connect(broker.endpoint)
        connection.submit(_listing("first"), time.monotonic())
        response = _drive(connection, responses=1)[0]
        assert (response.request.token, response.part, response.version, response.error) == ("first", "all", 5, None)
        assert LIST_GROUPS.read_response(response.version, response.payload)["groups"] == []
        assert [(asked.api, asked.version) for asked in broker.asked] == [("ApiVersions", 3), ("ListGroups", 5)]
        assert {asked.client_id for asked in broker.asked} == {"tester"}
        assert broker.asked[0].body["client_software_name"] == "kafka-groups"
        assert connection.sent == [("ApiVersions", 3), ("ListGroups", 5)]
        connection.abandon(ConnectionFailedError("closed"))


def test_a_broker_that_knows_only_the_first_version_question_is_asked_that_one() -> None:
    with ScriptedBroker(lambda _asked: LISTED, versions={"ApiVersions": (0, 0), "ListGroups": (0, 1)}) as broker:
        connection = _connect(broker.endpoint)
        connection.submit(_listing(), time.monotonic())
        assert _drive(connection, responses=1)[0].version == 1
        assert connection.sent == [("ApiVersions", 3), ("ApiVersions", 0), ("ListGroups", 1)]
        connection.abandon(ConnectionFailedError("closed"))


def test_bodies_are_built_for_the_version_that_both_sides_speak() -> None:
    seen: list[int] = []

    def bodies(version: int) -> list[tuple[Any, Mapping[str, Any]]]:
        seen.append(version)
        return [(None, {"coordinator_keys": ["a"]})]

    with ScriptedBroker(lambda _asked: {}, versions={"FindCoordinator": (0, 4)}) as broker:
        connection = _connect(broker.endpoint)
        connection.submit(Request(api=FIND_COORDINATOR, bodies=bodies, token=None), time.monotonic())
        _drive(connection, responses=1)
        assert seen == [4]
        connection.abandon(ConnectionFailedError("closed"))


def test_a_question_that_cannot_be_asked_in_this_version_is_refused_and_others_go_on() -> None:
    def refuse(version: int) -> list[tuple[Any, Mapping[str, Any]]]:
        msg = f"not in {version}"
        raise UnsupportedVersionError(msg)

    with ScriptedBroker(lambda _asked: LISTED) as broker:
        connection = _connect(broker.endpoint)
        connection.submit(Request(api=OFFSET_FETCH, bodies=refuse, token="old"), time.monotonic())
        connection.submit(_listing("new"), time.monotonic())
        responses = {response.request.token: response for response in _drive(connection, responses=2)}
        assert str(responses["old"].error) == "not in 9"
        assert responses["old"].part is None
        assert responses["new"].error is None
        late = connection.submit(Request(api=OFFSET_FETCH, bodies=refuse, token="late"), time.monotonic())
        assert [str(response.error) for response in late] == ["not in 9"]
        connection.abandon(ConnectionFailedError("closed"))


def test_answers_find_their_questions_in_whatever_order_they_come() -> None:
    def answer(correlation: int, group: str) -> tuple[int, bytes]:
        return correlation, encode_answer(LIST_GROUPS, 5, {"groups": [{"group_id": group}]})

    swapped = _in_pieces(answer(3, "second"), answer(2, "first"))
    with speaking(after=0, then=after_frames((1, VERSIONS), (2, swapped))) as endpoint:
        connection = _connect(endpoint)
        connection.submit(_listing("token", "one", "two"), time.monotonic())
        responses = _drive(connection, responses=2)
        told = [
            LIST_GROUPS.read_response(response.version, response.payload)["groups"][0]["group_id"]
            for response in responses
        ]
        assert [response.part for response in responses] == ["two", "one"]
        assert told == ["second", "first"]
        connection.abandon(ConnectionFailedError("closed"))


def test_an_answer_to_no_question_ends_the_connection() -> None:
    with speaking(_in_pieces((77, b"12345678"))) as endpoint:
        error = _loss(endpoint)
    assert type(error) is MalformedResponseError
    assert str(error) == "an answer came to a handler that was never asked"


def test_an_answer_in_front_of_a_stray_one_is_delivered_before_the_connection_ends() -> None:
    answer = encode_answer(LIST_GROUPS, 5, LISTED)
    stray = _in_pieces((2, answer), (99, answer))
    with speaking(after=0, then=after_frames((1, VERSIONS), (1, stray))) as endpoint:
        connection = _connect(endpoint)
        connection.submit(_listing("asked"), time.monotonic())
        assert [response.request.token for response in _drive(connection, responses=1)] == ["asked"]
        with pytest.raises(MalformedResponseError, match="never asked"):
            connection.advance(time.monotonic())
        assert connection.abandon(ConnectionFailedError("closed")) == []


def test_versions_that_cannot_be_read_are_no_kafka() -> None:
    with ScriptedBroker() as broker:
        broker.script("ApiVersions", garbage)
        error = _loss(broker.endpoint)
    assert type(error) is MalformedResponseError
    assert str(error) == "what answers there does not speak Kafka's protocol"


def test_versions_that_are_refused_are_told_with_the_code() -> None:
    with ScriptedBroker() as broker:
        broker.script("ApiVersions", changed(error_code=58))
        error = _loss(broker.endpoint)
    assert str(error) == "it refused to tell its versions (error 58)"


def test_a_broker_that_hangs_up_returns_every_open_question_with_the_loss() -> None:
    with ScriptedBroker(lambda _asked: LISTED) as broker:
        broker.script("ListGroups", drops)
        connection = _connect(broker.endpoint)
        connection.submit(_listing("token", "one", "two"), time.monotonic())
        with pytest.raises(ConnectionFailedError) as caught:
            _drive(connection, responses=1)
        lost = connection.abandon(caught.value)
        assert sorted((response.part, str(response.error)) for response in lost) == [
            ("one", "it closed the connection"),
            ("two", "it closed the connection"),
        ]


def test_questions_that_waited_for_versions_are_returned_whole() -> None:
    with accepting_only() as endpoint:
        connection = _connect(endpoint)
        connection.submit(_listing("first"), time.monotonic())
        connection.submit(_listing("second"), time.monotonic())
        lost = connection.abandon(ConnectionFailedError("closed"))
        assert [(response.request.token, response.part, response.version) for response in lost] == [
            ("first", None, -1),
            ("second", None, -1),
        ]


@pytest.mark.timed
def test_a_port_that_takes_connections_and_says_nothing_is_given_up() -> None:
    with accepting_only() as endpoint:
        started = time.monotonic()
        error = _loss(endpoint, patience_s=0.3)
        assert 0.3 <= time.monotonic() - started < 2
    assert type(error) is ConnectionFailedError
    assert str(error) == "it took the connection but did not answer within 0.3 s"


def test_a_port_that_takes_no_connection_is_given_up() -> None:
    with not_taking() as endpoint:
        error = _loss(endpoint, patience_s=0.3)
    assert str(error) == "it did not take the connection within 0.3 s"


def test_patience_ends_when_the_versions_are_known() -> None:
    with ScriptedBroker(lambda _asked: LISTED) as broker:
        connection = _connect(broker.endpoint, patience_s=5.0)
        assert connection.wakes_at() is not None
        _agree(connection)
        assert connection.wakes_at() is None
        assert connection.advance(time.monotonic() + 3600) == []
        connection.abandon(ConnectionFailedError("closed"))


def test_a_throttled_connection_holds_its_questions_back_and_says_until_when() -> None:
    def throttle(_asked: Asked) -> Struct:
        return {"groups": [], "throttle_time_ms": 60_000}

    with ScriptedBroker(throttle) as broker:
        connection = _connect(broker.endpoint)
        connection.submit(_listing("first"), time.monotonic())
        _drive(connection, responses=1)
        connection.submit(_listing("second"), time.monotonic())
        wakes_at = connection.wakes_at()
        assert wakes_at is not None
        assert 55 < wakes_at - time.monotonic() < 60
        assert connection.sent == [("ApiVersions", 3), ("ListGroups", 5)]
        connection.advance(wakes_at)
        assert connection.sent[2:] == [("ListGroups", 5)]
        connection.abandon(ConnectionFailedError("closed"))


def test_a_full_pipeline_waits_for_answers_and_not_for_a_time() -> None:
    with ScriptedBroker(lambda _asked: LISTED) as broker:
        broker.hold("ListGroups", until=1000)
        connection = _connect(broker.endpoint)
        _agree(connection)
        connection.submit(_listing("many", *range(100)), time.monotonic())
        assert connection.sent.count(("ListGroups", 5)) == 64
        assert connection.wakes_at() is None
        connection.abandon(ConnectionFailedError("closed"))


@pytest.mark.parametrize(
    ("offered", "agreed"), [((0, 5), 5), ((0, 99), 5), ((3, 3), 3), ((5, 9), 5)], ids=["same", "newer", "one", "edge"]
)
def test_the_newest_version_of_both_sides_is_spoken(offered: tuple[int, int], agreed: int) -> None:
    assert agreed_version({LIST_GROUPS.key: offered}, LIST_GROUPS) == agreed


@pytest.mark.parametrize(
    ("versions", "told"),
    [
        ({}, "the broker has no ListGroups; this tool needs 0 to 5"),
        ({LIST_GROUPS.key: (6, 8)}, "the broker speaks ListGroups 6 to 8; this tool needs 0 to 5"),
    ],
)
def test_without_a_common_version_both_ranges_are_told(versions: dict[int, tuple[int, int]], told: str) -> None:
    with pytest.raises(UnsupportedVersionError) as caught:
        agreed_version(versions, LIST_GROUPS)
    assert str(caught.value) == told
