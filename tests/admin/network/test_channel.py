"""One socket: frames are cut from whatever pieces arrive, and what is no frame is told for what it is."""

from __future__ import annotations

import selectors
import socket
import struct
from collections.abc import Callable
from typing import cast

import pytest

from kafka_groups.admin.network.channel import Channel
from kafka_groups.errors import AdminError, ConnectionFailedError, MalformedResponseError, TlsFailedError
from kafka_groups.settings import Endpoint
from tests.fakes.raw_port import accepting_only, not_taking, refusing, speaking

pytestmark = pytest.mark.timeout(20)

ALERT = bytes.fromhex("15 0303 0002 020a")


def _frame(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


def _open(*endpoints: Endpoint) -> Channel:
    return Channel([(socket.AF_INET, (endpoint.host, endpoint.port)) for endpoint in endpoints])


def _until(channel: Channel, is_enough: Callable[[list[bytes]], bool]) -> list[bytes]:
    """Drive a channel as its owner does, until enough frames came."""
    frames: list[bytes] = []
    while not is_enough(frames):
        with selectors.DefaultSelector() as selector:
            selector.register(channel.socket, channel.wanted_events())
            assert selector.select(5), "nothing happened for five seconds"
        frames += channel.advance()
    return frames


def _ask(channel: Channel, *, frames: int) -> list[bytes]:
    channel.send(b"hello")
    return _until(channel, lambda have: len(have) >= frames)


def _failure(endpoint: Endpoint, *, frames: int = 9) -> AdminError:
    channel = _open(endpoint)
    with pytest.raises(AdminError) as caught:
        _ask(channel, frames=frames)
    channel.close()
    return caught.value


def test_a_frame_that_comes_byte_by_byte_is_one_frame() -> None:
    pieces = [bytes([byte]) for byte in _frame(b"answer")]
    with speaking(*pieces) as endpoint:
        channel = _open(endpoint)
        assert _ask(channel, frames=1) == [b"answer"]
        channel.close()


def test_two_frames_in_one_piece_are_two_frames() -> None:
    with speaking(_frame(b"first") + _frame(b"second") + _frame(b"third")[:6], b"ird") as endpoint:
        channel = _open(endpoint)
        assert _ask(channel, frames=3) == [b"first", b"second", b"third"]
        channel.close()


def test_what_is_sent_before_the_connection_stands_leaves_when_it_does() -> None:
    with speaking(_frame(b"answer"), after=5) as endpoint:
        channel = _open(endpoint)
        assert not channel.is_open
        assert channel.wanted_events() == selectors.EVENT_WRITE
        assert _ask(channel, frames=1) == [b"answer"]
        assert channel.is_open
        channel.close()


def test_a_request_larger_than_the_sockets_buffers_leaves_in_parts() -> None:
    size = 8_000_000
    with speaking(_frame(b"answer"), after=size) as endpoint:
        channel = _open(endpoint)
        channel.send(b"x" * size)
        assert _until(channel, lambda frames: len(frames) == 1) == [b"answer"]
        channel.close()


def test_addresses_are_tried_in_their_order_until_one_takes_the_connection() -> None:
    with refusing() as dead, speaking(_frame(b"answer")) as alive:
        channel = _open(dead, dead, alive)
        assert _ask(channel, frames=1) == [b"answer"]
        channel.close()


def test_when_no_address_takes_the_connection_the_last_reason_is_told() -> None:
    with refusing() as dead:
        error = _failure(dead)
    assert type(error) is ConnectionFailedError
    assert str(error) == "connection refused"


def test_a_host_without_addresses_is_told() -> None:
    with pytest.raises(ConnectionFailedError, match="the host has no address to connect to"):
        Channel([])


def test_advancing_before_the_connection_stands_does_no_harm() -> None:
    with accepting_only() as endpoint:
        channel = _open(endpoint)
        for _ in range(100):
            assert channel.advance() == []
        channel.close()


def test_a_peer_that_hangs_up_at_once_is_suspected_to_want_tls() -> None:
    with speaking() as endpoint:
        error = _failure(endpoint)
    assert type(error) is ConnectionFailedError
    assert str(error) == (
        "it closed the connection at our first request; "
        "perhaps the port wants TLS (-X security.protocol=SSL), or is not Kafka's"
    )


def test_a_peer_that_hangs_up_later_only_closed_the_connection() -> None:
    with speaking(_frame(b"answer")) as endpoint:
        error = _failure(endpoint)
    assert str(error) == "it closed the connection"


@pytest.mark.parametrize("pieces", [[ALERT], [ALERT[:2]], [ALERT[:3], ALERT[3:]]])
def test_a_tls_alert_says_that_the_port_speaks_tls(pieces: list[bytes]) -> None:
    with speaking(*pieces) as endpoint:
        error = _failure(endpoint)
    assert type(error) is TlsFailedError
    assert str(error) == "the port speaks TLS; add -X security.protocol=SSL"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "'HTTP'"),
        (b"SSH-2.0-OpenSSH_9.9\r\n", "'SSH-'"),
        (b"\xff\xff\xff\xff", r"'\\xff\\xff\\xff\\xff'"),
        (b"\x00\x00\x00\x03abc", r"'\x00\x00\x00\x03'"),
    ],
)
def test_a_port_of_another_protocol_is_told_with_its_first_letters(said: bytes, shown: str) -> None:
    with speaking(said) as endpoint:
        error = _failure(endpoint)
    assert type(error) is MalformedResponseError
    assert str(error) == f"what answers there does not speak Kafka's protocol (its answer begins with {shown})"


def test_a_huge_frame_is_refused_before_a_byte_of_it_is_kept() -> None:
    with speaking(_frame(b"answer"), struct.pack(">i", 2**31 - 1)) as endpoint:
        error = _failure(endpoint)
    assert type(error) is MalformedResponseError
    assert str(error) == "an answer of 2147483647 bytes was announced"


def test_a_large_frame_is_fine_once_the_peer_is_known_to_be_kafka() -> None:
    large = b"x" * 3_000_000
    with speaking(_frame(b"answer"), _frame(large)) as endpoint:
        channel = _open(endpoint)
        assert [len(frame) for frame in _ask(channel, frames=2)] == [6, 3_000_000]
        channel.close()


def test_the_first_frame_may_not_be_large() -> None:
    with speaking(struct.pack(">i", 3_000_000)) as endpoint:
        assert type(_failure(endpoint)) is MalformedResponseError


def test_a_frame_in_front_of_garbage_in_one_piece_is_delivered_first() -> None:
    with speaking(_frame(b"answer") + b"\xff\xff\xff\xff") as endpoint:
        channel = _open(endpoint)
        assert _ask(channel, frames=1) == [b"answer"]
        with pytest.raises(MalformedResponseError, match="an answer of -1 bytes was announced"):
            channel.advance()
        channel.close()


def test_a_frame_that_was_cut_off_is_never_delivered() -> None:
    with speaking(_frame(b"answer"), _frame(b"unfinished")[:-1]) as endpoint:
        error = _failure(endpoint, frames=2)
    assert str(error) == "it closed the connection"


class _Firehose:
    """A socket that always has more."""

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
def test_a_peer_that_sends_without_pause_does_not_keep_the_loop(piece: bytes, most: int) -> None:
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


def test_what_one_call_left_in_the_socket_is_delivered_by_the_next_ones() -> None:
    with speaking(b"".join(_frame(b"%07d" % number) for number in range(200_000))) as endpoint:
        channel = _open(endpoint)
        frames = _ask(channel, frames=200_000)
        channel.close()
    assert frames == [b"%07d" % number for number in range(200_000)]


def test_an_address_that_says_nothing_can_be_given_up_for_the_next() -> None:
    with not_taking() as silent, speaking(_frame(b"answer")) as alive:
        channel = _open(silent, alive)
        assert channel.advance() == []
        assert channel.addresses_left == 1
        channel.give_up_address()
        assert channel.addresses_left == 0
        assert _ask(channel, frames=1) == [b"answer"]
        channel.close()
