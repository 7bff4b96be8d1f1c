"""Bootstrap: shares of the deadline, the endpoint for requests to any broker, and the brokers of Metadata."""

from __future__ import annotations

import pytest

from kafka_groups.admin.network.bootstrap import (
    Bootstrap,
    ClusterMetadata,
    metadata_request,
    read_metadata,
    unreachable,
)
from kafka_groups.admin.network.request import Response
from kafka_groups.errors import (
    AdminError,
    AuthenticationFailedError,
    ConnectionFailedError,
    MalformedResponseError,
    NoConnectionError,
)
from kafka_groups.model import Broker
from kafka_groups.protocol.messages import METADATA
from kafka_groups.settings import ConnectionSettings, Endpoint
from tests.fakes.scripted_broker import encode_response

ONE, TWO, THREE = (Endpoint(host=f"b{number}", port=9092) for number in (1, 2, 3))


def _bootstrap(*servers: Endpoint, connect_timeout_s: float = 10.0) -> Bootstrap:
    return Bootstrap(ConnectionSettings(bootstrap=servers, connect_timeout_s=connect_timeout_s))


@pytest.mark.parametrize(
    ("connect_timeout_s", "remaining_s", "later_servers", "timeout_s"),
    [
        (10.0, 30.0, 0, 10.0),
        (10.0, 30.0, 1, 5.0),
        (10.0, 4.0, 1, 2.0),
        (2.0, 30.0, 3, 1.0),
        (10.0, 0.01, 4, 0.1),
        (10.0, -1.0, 1, 0.1),
    ],
    ids=["last", "half of the timeout", "half of the deadline", "at least a second", "a tenth", "deadline passed"],
)
def test_a_server_leaves_a_share_of_the_time_to_each_later_one(
    connect_timeout_s: float, remaining_s: float, later_servers: int, timeout_s: float
) -> None:
    bootstrap = _bootstrap(ONE, connect_timeout_s=connect_timeout_s)
    assert bootstrap.setup_timeout_s(remaining_s, later_servers) == timeout_s


def test_the_next_endpoint_is_each_broker_and_bootstrap_server_in_turn() -> None:
    bootstrap = _bootstrap(ONE, THREE)
    brokers = [Broker(id=1, host="b1", port=9092), Broker(id=2, host="b2", port=9092)]
    assert bootstrap.current is None
    assert [bootstrap.next_endpoint(brokers, set()) for _ in range(4)] == [ONE, TWO, THREE, ONE]
    assert bootstrap.current == ONE


def test_an_endpoint_that_left_the_cluster_is_followed_by_the_first() -> None:
    bootstrap = _bootstrap(ONE)
    bootstrap.current = TWO
    assert bootstrap.next_endpoint([], set()) == ONE


def _response(payload: bytes = b"", error: ConnectionFailedError | None = None) -> Response:
    return Response(request=metadata_request(None), part=None, version=13, payload=payload, error=error)


def test_metadata_is_read_as_brokers_by_id_and_the_id_of_the_cluster() -> None:
    rows = [{"node_id": 7, "host": "b7", "port": 1}]
    payload = b"\0\0\0\1" + encode_response(METADATA, 13, {"brokers": rows, "cluster_id": "c", "topics": []})
    metadata = read_metadata(_response(payload))
    assert (metadata.cluster_id, metadata.brokers) == ("c", {7: Broker(id=7, host="b7", port=1)})


def test_a_failed_metadata_request_raises_its_error() -> None:
    with pytest.raises(ConnectionFailedError, match="closed the connection"):
        read_metadata(_response(error=ConnectionFailedError("closed the connection")))
    with pytest.raises(MalformedResponseError, match="cannot read the Metadata response: "):
        read_metadata(_response(b"\0\0\0\1\xff"))


def test_an_unreachable_cluster_is_an_error_of_the_last_type_with_every_reason() -> None:
    refused, unauthorised = ConnectionFailedError("connection refused"), AuthenticationFailedError("no")
    one = unreachable([(ONE, refused)])
    assert (type(one), str(one)) == (ConnectionFailedError, "cannot connect to b1:9092: connection refused")
    both = unreachable([(ONE, refused), (TWO, unauthorised)])
    assert (type(both), str(both)) == (
        AuthenticationFailedError,
        "no server responded: b1:9092: connection refused; b2:9092: no",
    )


def test_an_address_that_failed_is_avoided_until_the_time_is_over_or_it_responds() -> None:
    bootstrap = _bootstrap(ONE, TWO)
    bootstrap.note_failure(ONE, until=50.0, silent=True)
    assert (bootstrap.failed(49.9), bootstrap.failed(50.0)) == ({ONE}, set())
    assert (bootstrap.was_silent(ONE, 49.9), bootstrap.was_silent(ONE, 50.0)) == (True, False)
    assert bootstrap.next_endpoint([], {ONE}) == TWO
    bootstrap.note_failure(TWO, until=90.0, silent=False)
    assert (bootstrap.failed(60.0), bootstrap.was_silent(TWO, 60.0)) == ({TWO}, False)
    bootstrap.note_response(TWO)
    assert bootstrap.failed(60.0) == set()


def test_the_next_endpoint_is_used_in_turn_if_all_failed() -> None:
    bootstrap = _bootstrap(ONE, TWO)
    assert [bootstrap.next_endpoint([], {ONE, TWO}) for _ in range(3)] == [ONE, TWO, ONE]


def test_another_address_is_one_that_did_not_fail() -> None:
    bootstrap = _bootstrap(ONE)
    other = Broker(id=2, host="b2", port=9092)
    assert (bootstrap.has_other(ONE, [], 0.0), bootstrap.has_other(ONE, [other], 0.0)) == (False, True)
    bootstrap.note_failure(TWO, until=50.0, silent=True)
    assert not bootstrap.has_other(ONE, [other], 10.0)


def _find(bootstrap: Bootstrap, *outcomes: ClusterMetadata | AdminError) -> tuple[list[Endpoint], list[float]]:
    """Return the addresses that were requested, and the pauses in seconds; each request takes an outcome."""
    requested: list[Endpoint] = []
    pauses: list[float] = []
    results = iter(outcomes)

    def request(endpoint: Endpoint, _setup_timeout_s: float, _until: float) -> ClusterMetadata:
        requested.append(endpoint)
        result = next(results)
        if isinstance(result, AdminError):
            raise result
        return result

    def endpoints() -> list[Endpoint]:
        return bootstrap.in_turn([])

    bootstrap.find_metadata(request, endpoints, 30.0, clock=lambda: 0.0, pause=pauses.append)
    return requested, pauses


def test_addresses_are_tried_in_turn_and_again_with_growing_pauses() -> None:
    found = ClusterMetadata(cluster_id="c", brokers={})
    refused = NoConnectionError("connection refused")
    requested, pauses = _find(_bootstrap(ONE, TWO), *[refused] * 12, found)
    assert requested[:3] == [ONE, TWO, TWO]
    assert pauses == [0.1, 0.2, 0.4, 0.8, 1.0, 1.0]


def test_the_failures_of_many_addresses_are_summed_up() -> None:
    many = [(Endpoint(host=f"b{number}", port=9092), NoConnectionError("refused")) for number in range(8)]
    text = str(unreachable(many))
    assert text.startswith("no server responded: b0:9092: refused; b1:9092")
    assert text.endswith("b4:9092: refused; and 3 more")
    assert "more" not in str(unreachable(many[:5]))


def test_only_an_address_that_a_broker_advertised_is_reported_with_the_setting() -> None:
    bootstrap = _bootstrap(ONE)
    found = ClusterMetadata(cluster_id="c", brokers={})
    _find(bootstrap, found)
    refused = ConnectionFailedError("connection refused")
    assert str(bootstrap.unconnected(ONE, "broker 1", refused)) == "cannot connect to broker 1: connection refused"
    assert str(bootstrap.unconnected(TWO, "broker 2", refused)) == (
        "cannot connect to broker 2: connection refused; check advertised.listeners: b1:9092 returned this address"
    )
    assert str(bootstrap.unconnected(TWO, "broker 2", AuthenticationFailedError("no"))) == (
        "cannot connect to broker 2: no"
    )
