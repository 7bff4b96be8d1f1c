"""The bench's proxy: it counts requests, changes the addresses of brokers, and delays responses."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

from kafka_groups.protocol import compile_writer
from kafka_groups.protocol.messages import FIND_COORDINATOR, METADATA, OFFSET_FETCH, Api

from .frames import ProxiedConnection, Splitter
from .proxy import delay_frames
from .proxy_process import start_proxy

_BROKER, _PROXY = 19092, 29999


def _request(api: Api, version: int, correlation: int) -> bytes:
    return api.encode_request(version, correlation_id=correlation, client_id="c", body={})


def _response(api: Api, version: int, correlation: int, body: Mapping[str, object]) -> bytes:
    flexible = api.is_flexible(version)
    out = bytearray(struct.pack(">i", correlation)) + (b"\x00" if flexible else b"")
    compile_writer(api.response, version=version, flexible=flexible)(out, body)
    return struct.pack(">i", len(out)) + bytes(out)


class TestFrames:
    @pytest.mark.parametrize("size", [1, 3, 7, 1000])
    def test_frames_are_the_same_in_pieces_of_any_size(self, size: int) -> None:
        frames = [_request(OFFSET_FETCH, 8, 1), _request(METADATA, 9, 2), _request(METADATA, 9, 3)]
        stream = b"".join(frames)
        splitter = Splitter()

        found = [frame for at in range(0, len(stream), size) for frame in splitter.feed(stream[at : at + size])]

        assert found == frames

    def test_requests_are_counted_by_api(self) -> None:
        tally: Counter[int] = Counter()
        connection = ProxiedConnection(tally, {})

        for api in (OFFSET_FETCH, METADATA, OFFSET_FETCH):
            connection.record_request(_request(api, api.highest, 1))

        assert tally == {OFFSET_FETCH.key: 2, METADATA.key: 1}

    @pytest.mark.parametrize("version", [METADATA.lowest, METADATA.highest])
    def test_metadata_has_the_ports_of_the_proxy(self, version: int) -> None:
        connection = ProxiedConnection(Counter(), {_BROKER: _PROXY})
        body = {"brokers": [{"node_id": 1, "host": "127.0.0.1", "port": _BROKER}], "topics": []}

        connection.record_request(_request(METADATA, version, 5))
        frame = connection.redirect(_response(METADATA, version, 5, body))

        assert METADATA.read_response(version, frame[4:])["brokers"][0]["port"] == _PROXY

    @pytest.mark.parametrize("version", [3, 4])
    def test_coordinators_have_the_ports_of_the_proxy(self, version: int) -> None:
        connection = ProxiedConnection(Counter(), {_BROKER: _PROXY})
        address = {"node_id": 1, "host": "127.0.0.1", "port": _BROKER}
        body = {**address, "coordinators": [{"key": "g1", **address}, {"key": "g2", **address}]}

        connection.record_request(_request(FIND_COORDINATOR, version, 5))
        response = FIND_COORDINATOR.read_response(
            version, connection.redirect(_response(FIND_COORDINATOR, version, 5, body))[4:]
        )

        rows = response["coordinators"] or [response]
        assert {row["port"] for row in rows} == {_PROXY}

    def test_responses_of_other_apis_are_unchanged(self) -> None:
        connection = ProxiedConnection(Counter(), {_BROKER: _PROXY})
        frame = struct.pack(">ii", 17, 5) + b"127.0.0.1" + struct.pack(">i", _BROKER)

        connection.record_request(_request(OFFSET_FETCH, 8, 5))

        assert connection.redirect(frame) == frame


class TestDelay:
    def test_responses_that_arrive_together_are_delayed_once(self) -> None:
        delay_s, count = 0.05, 20
        written: list[tuple[float, bytes]] = []

        all_written = asyncio.Event()

        class Writer:
            def write(self, frame: bytes) -> None:
                written.append((asyncio.get_running_loop().time(), frame))
                if len(written) == count:
                    all_written.set()

            async def drain(self) -> None:
                pass

        async def run() -> float:
            frames: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
            start = asyncio.get_running_loop().time()
            for number in range(count):
                frames.put_nowait((start, bytes([number])))
            task = asyncio.ensure_future(delay_frames(frames, Writer(), delay_s=delay_s))
            await all_written.wait()
            task.cancel()
            return start

        start = asyncio.run(run())

        assert [frame for _, frame in written] == [bytes([number]) for number in range(count)]
        assert written[0][0] - start >= delay_s * 0.9
        # Delayed one after the other, they would take a whole second.
        assert written[-1][0] - start < delay_s * count / 2


class TestProxy:
    def test_requests_in_flight_together_are_counted_and_delayed_once(self) -> None:
        delay_s, count = 0.1, 20
        with _echoing_broker() as port, start_proxy(f"127.0.0.1:{port}", delay_ms=delay_s * 1000) as proxy:
            own_port = int(proxy.bootstrap.rpartition(":")[2])
            with socket.create_connection(("127.0.0.1", own_port), timeout=10) as client:
                start = time.perf_counter()
                client.sendall(b"".join(_request(METADATA, 9, number) for number in range(count)))
                frames = _receive(client, count)
                seconds = time.perf_counter() - start

            assert [struct.unpack_from(">ii", frame)[1] for frame in frames] == list(range(count))
            assert delay_s * 0.9 <= seconds < delay_s * count / 2
            assert proxy.take_tally() == {"Metadata": count}
            assert proxy.take_tally() == {}


def _receive(client: socket.socket, count: int) -> list[bytes]:
    splitter = Splitter()
    frames: list[bytes] = []
    while len(frames) < count:
        piece = client.recv(65536)
        assert piece
        frames += splitter.feed(piece)
    return frames


@contextmanager
def _echoing_broker() -> Iterator[int]:
    """Yield the port of a server that accepts one connection and returns the correlation id of each request."""

    def respond() -> None:
        connection, _ = server.accept()
        splitter = Splitter()
        with connection:
            while piece := connection.recv(65536):
                for frame in splitter.feed(piece):
                    connection.sendall(struct.pack(">i", 4) + frame[8:12])

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=respond)
        thread.start()
        yield server.getsockname()[1]
        thread.join(10)
