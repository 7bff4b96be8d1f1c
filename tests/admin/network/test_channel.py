"""One socket: frames are extracted from the bytes as they arrive, and other protocols are recognised."""

from __future__ import annotations

import selectors
import socket
import struct
from collections.abc import Callable
from typing import cast

import pytest

from kafka_groups.admin.network.channel import Channel
from kafka_groups.errors import (
    AdminError,
    ConnectionFailedError,
    MalformedResponseError,
    NoConnectionError,
    ResponseTooLargeError,
    TlsFailedError,
)
from kafka_groups.settings import Endpoint
from tests.fakes.raw_port import accepting_only, not_accepting, refusing, responding

pytestmark = pytest.mark.timeout(20)

ALERT = bytes.fromhex("15 0303 0002 020a")


def _frame(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


def _open(*endpoints: Endpoint) -> Channel:
    return Channel([(socket.AF_INET, (endpoint.host, endpoint.port)) for endpoint in endpoints])


def _until(channel: Channel, is_enough: Callable[[list[bytes]], bool]) -> list[bytes]:
    """Advance a channel as its owner does, until enough frames have arrived."""
    frames: list[bytes] = []
    while not is_enough(frames):
        with selectors.DefaultSelector() as selector:
            selector.register(channel.socket, channel.wanted_events())
            assert selector.select(5), "no event for five seconds"
        frames += channel.advance()
    return frames


def _exchange(channel: Channel, *, frames: int) -> list[bytes]:
    channel.send(b"hello")
    return _until(channel, lambda received: len(received) >= frames)


def _failure(endpoint: Endpoint, *, frames: int = 9) -> AdminError:
    channel = _open(endpoint)
    with pytest.raises(AdminError) as caught:
        _exchange(channel, frames=frames)
    channel.close()
    return caught.value


def test_a_frame_that_arrives_byte_by_byte_is_one_frame() -> None:
    pieces = [bytes([byte]) for byte in _frame(b"response")]
    with responding(*pieces) as endpoint:
        channel = _open(endpoint)
        assert _exchange(channel, frames=1) == [b"response"]
        channel.close()


def test_two_frames_in_one_segment_are_two_frames() -> None:
    with responding(_frame(b"first") + _frame(b"second") + _frame(b"third")[:6], b"ird") as endpoint:
        channel = _open(endpoint)
        assert _exchange(channel, frames=3) == [b"first", b"second", b"third"]
        channel.close()


def test_bytes_sent_before_the_connection_is_established_leave_afterwards() -> None:
    with responding(_frame(b"response"), after=5) as endpoint:
        channel = _open(endpoint)
        assert not channel.is_open
        assert channel.wanted_events() == selectors.EVENT_WRITE
        assert _exchange(channel, frames=1) == [b"response"]
        assert channel.is_open
        channel.close()


def test_a_request_larger_than_the_sockets_buffers_is_sent_in_parts() -> None:
    size = 8_000_000
    with responding(_frame(b"response"), after=size) as endpoint:
        channel = _open(endpoint)
        channel.send(b"x" * size)
        assert _until(channel, lambda frames: len(frames) == 1) == [b"response"]
        channel.close()


def test_addresses_are_tried_in_their_order_until_one_accepts() -> None:
    with refusing() as dead, responding(_frame(b"response")) as alive:
        channel = _open(dead, dead, alive)
        assert _exchange(channel, frames=1) == [b"response"]
        channel.close()


def test_when_no_address_accepts_the_last_reason_is_raised() -> None:
    with refusing() as dead:
        error = _failure(dead)
    assert type(error) is NoConnectionError
    assert str(error) == "connection refused"


def test_a_host_without_addresses_is_an_error() -> None:
    with pytest.raises(ConnectionFailedError, match="the host name has no address"):
        Channel([])


def test_advancing_before_the_connection_is_established_returns_nothing() -> None:
    with accepting_only() as endpoint:
        channel = _open(endpoint)
        for _ in range(100):
            assert channel.advance() == []
        channel.close()


def test_a_peer_that_closes_at_once_may_require_tls() -> None:
    with responding() as endpoint:
        error = _failure(endpoint)
    assert type(error) is ConnectionFailedError
    assert str(error) == (
        "closed the connection at the first request; "
        "the listener may require TLS (-X security.protocol=SSL), or may not be Kafka's"
    )


def test_a_peer_that_closes_later_only_closed_the_connection() -> None:
    with responding(_frame(b"response")) as endpoint:
        error = _failure(endpoint)
    assert str(error) == "closed the connection"


@pytest.mark.parametrize("pieces", [[ALERT], [ALERT[:2]], [ALERT[:3], ALERT[3:]]])
def test_a_tls_alert_shows_that_the_listener_uses_tls(pieces: list[bytes]) -> None:
    with responding(*pieces) as endpoint:
        error = _failure(endpoint)
    assert type(error) is TlsFailedError
    assert str(error) == "the listener uses TLS; set -X security.protocol=SSL"


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "'HTTP'"),
        (b"SSH-2.0-OpenSSH_9.9\r\n", "'SSH-'"),
        (b"\xff\xff\xff\xff", r"'\\xff\\xff\\xff\\xff'"),
        (b"\x00\x00\x00\x03abc", r"'\x00\x00\x00\x03'"),
    ],
)
def test_another_protocol_is_reported_with_its_first_bytes(sent: bytes, shown: str) -> None:
    with responding(sent) as endpoint:
        error = _failure(endpoint)
    assert type(error) is MalformedResponseError
    assert str(error) == f"the peer does not speak Kafka's protocol (it sent {shown} first); check host and port"


def test_a_huge_frame_is_refused_before_a_byte_of_it_is_stored() -> None:
    with responding(_frame(b"response"), struct.pack(">i", 2**31 - 1)) as endpoint:
        error = _failure(endpoint)
    assert type(error) is ResponseTooLargeError
    assert str(error) == "the response has 2,147,483,647 bytes, more than the 134,217,728 that this tool reads"


def test_a_large_frame_is_accepted_once_the_peer_is_known_to_be_kafka() -> None:
    large = b"x" * 3_000_000
    with responding(_frame(b"response"), _frame(large)) as endpoint:
        channel = _open(endpoint)
        assert [len(frame) for frame in _exchange(channel, frames=2)] == [8, 3_000_000]
        channel.close()


def test_the_first_frame_may_not_be_large() -> None:
    with responding(struct.pack(">i", 3_000_000)) as endpoint:
        assert type(_failure(endpoint)) is MalformedResponseError


def test_a_frame_before_malformed_bytes_is_delivered_first() -> None:
    with responding(_frame(b"response") + b"\xff\xff\xff\xff") as endpoint:
        channel = _open(endpoint)
        assert _exchange(channel, frames=1) == [b"response"]
        with pytest.raises(MalformedResponseError, match="received a response with an invalid size of -1 bytes"):
            channel.advance()
        channel.close()


def test_a_truncated_frame_is_never_delivered() -> None:
    with responding(_frame(b"response"), _frame(b"unfinished")[:-1]) as endpoint:
        error = _failure(endpoint, frames=2)
    assert str(error) == "closed the connection"


class _Firehose:
    """A socket that always has more bytes."""

    def __init__(self, piece: bytes) -> None:
        self.sent = 0
        self._piece = piece

    def recv(self, _size: int) -> bytes:
        self.sent += len(self._piece)
        return self._piece

    def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("piece", "most"),
    [
        (_frame(b"tiny"), 64 * 8),
        (_frame(b"x" * 200_000), 9 << 20),
        (struct.pack(">i", 1 << 26) + b"x" * 99_999, 9 << 20),
    ],
    ids=["small frames", "large frames", "a frame that does not end"],
)
def test_a_peer_that_sends_without_pause_does_not_block_the_event_loop(piece: bytes, most: int) -> None:
    with accepting_only() as endpoint:
        channel = _open(endpoint)
        channel.socket.close()
    hose = _Firehose(piece)
    channel.socket = cast("socket.socket", hose)
    channel.is_connected = channel.is_open = True
    channel._frames = 1
    channel.advance()
    assert 0 < hose.sent <= most
    before = hose.sent
    channel.advance()
    assert hose.sent > before
    assert channel.received == hose.sent


def test_bytes_that_one_call_leaves_in_the_socket_are_delivered_by_the_next_ones() -> None:
    with responding(b"".join(_frame(b"%07d" % number) for number in range(200_000))) as endpoint:
        channel = _open(endpoint)
        frames = _exchange(channel, frames=200_000)
        channel.close()
    assert frames == [b"%07d" % number for number in range(200_000)]


def test_an_address_that_does_not_accept_is_replaced_by_the_next() -> None:
    with not_accepting() as silent, responding(_frame(b"response")) as alive:
        channel = _open(silent, alive)
        assert channel.advance() == []
        assert channel.remaining_addresses == 1
        channel.try_next_address()
        assert channel.remaining_addresses == 0
        assert _exchange(channel, frames=1) == [b"response"]
        channel.close()
