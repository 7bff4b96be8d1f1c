"""The bench's proxy: what it counts, what it changes on the way, and what it delays."""

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

from .frames import Conversation, Splitter
from .proxied import proxy_before
from .proxy import delay_frames

_BROKER, _PROXY = 19092, 29999


def _request(api: Api, version: int, correlation: int) -> bytes:
    return api.encode_request(version, correlation_id=correlation, client_id="c", body={})


def _reply(api: Api, version: int, correlation: int, body: Mapping[str, object]) -> bytes:
    flexible = api.is_flexible(version)
    out = bytearray(struct.pack(">i", correlation)) + (b"\x00" if flexible else b"")
    compile_writer(api.response, version=version, flexible=flexible)(out, body)
    return struct.pack(">i", len(out)) + bytes(out)


class TestFrames:
    @pytest.mark.parametrize("size", [1, 3, 7, 1000])
    def test_are_the_same_however_they_are_torn(self, size: int) -> None:
        frames = [_request(OFFSET_FETCH, 8, 1), _request(METADATA, 9, 2), _request(METADATA, 9, 3)]
        stream = b"".join(frames)
        splitter = Splitter()

        found = [frame for at in range(0, len(stream), size) for frame in splitter.feed(stream[at : at + size])]

        assert found == frames

    def test_are_counted_by_api(self) -> None:
        tally: Counter[int] = Counter()
        conversation = Conversation(tally, {})

        for api in (OFFSET_FETCH, METADATA, OFFSET_FETCH):
            conversation.note_request(_request(api, api.highest, 1))

        assert tally == {OFFSET_FETCH.key: 2, METADATA.key: 1}

    @pytest.mark.parametrize("version", [METADATA.lowest, METADATA.highest])
    def test_brokers_in_metadata_are_behind_the_proxy(self, version: int) -> None:
        conversation = Conversation(Counter(), {_BROKER: _PROXY})
        body = {"brokers": [{"node_id": 1, "host": "127.0.0.1", "port": _BROKER}], "topics": []}

        conversation.note_request(_request(METADATA, version, 5))
        frame = conversation.redirect(_reply(METADATA, version, 5, body))

        assert METADATA.read_response(version, frame[4:])["brokers"][0]["port"] == _PROXY

    @pytest.mark.parametrize("version", [3, 4])
    def test_coordinators_are_behind_the_proxy(self, version: int) -> None:
        conversation = Conversation(Counter(), {_BROKER: _PROXY})
        where = {"node_id": 1, "host": "127.0.0.1", "port": _BROKER}
        body = {**where, "coordinators": [{"key": "g1", **where}, {"key": "g2", **where}]}

        conversation.note_request(_request(FIND_COORDINATOR, version, 5))
        answer = FIND_COORDINATOR.read_response(
            version, conversation.redirect(_reply(FIND_COORDINATOR, version, 5, body))[4:]
        )

        rows = answer["coordinators"] or [answer]
        assert {row["port"] for row in rows} == {_PROXY}

    def test_other_answers_stay_as_they_are(self) -> None:
        conversation = Conversation(Counter(), {_BROKER: _PROXY})
        frame = struct.pack(">ii", 17, 5) + b"127.0.0.1" + struct.pack(">i", _BROKER)

        conversation.note_request(_request(OFFSET_FETCH, 8, 5))

        assert conversation.redirect(frame) == frame


class TestDelay:
    def test_is_added_once_to_answers_that_come_together(self) -> None:
        delay_s, count = 0.05, 20
        taken: list[tuple[float, bytes]] = []

        all_taken = asyncio.Event()

        class Taking:
            def write(self, frame: bytes) -> None:
                taken.append((asyncio.get_running_loop().time(), frame))
                if len(taken) == count:
                    all_taken.set()

            async def drain(self) -> None:
                pass

        async def run() -> float:
            frames: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
            start = asyncio.get_running_loop().time()
            for number in range(count):
                frames.put_nowait((start, bytes([number])))
            task = asyncio.ensure_future(delay_frames(frames, Taking(), delay_s=delay_s))
            await all_taken.wait()
            task.cancel()
            return start

        start = asyncio.run(run())

        assert [frame for _, frame in taken] == [bytes([number]) for number in range(count)]
        assert taken[0][0] - start >= delay_s * 0.9
        # One after the other they would take a whole second.
        assert taken[-1][0] - start < delay_s * count / 2


class TestProxy:
    def test_counts_and_delays_what_is_in_flight_together(self) -> None:
        delay_s, count = 0.1, 20
        with _echoing_broker() as port, proxy_before(f"127.0.0.1:{port}", delay_ms=delay_s * 1000) as proxy:
            own_port = int(proxy.bootstrap.rpartition(":")[2])
            with socket.create_connection(("127.0.0.1", own_port), timeout=10) as client:
                start = time.perf_counter()
                client.sendall(b"".join(_request(METADATA, 9, number) for number in range(count)))
                frames = _receive(client, count)
                took = time.perf_counter() - start

            assert [struct.unpack_from(">ii", frame)[1] for frame in frames] == list(range(count))
            assert delay_s * 0.9 <= took < delay_s * count / 2
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
    """A server whose answer to a request is its correlation id; it takes one connection."""

    def answer() -> None:
        connection, _ = server.accept()
        splitter = Splitter()
        with connection:
            while piece := connection.recv(65536):
                for frame in splitter.feed(piece):
                    connection.sendall(struct.pack(">i", 4) + frame[8:12])

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=answer)
        thread.start()
        yield server.getsockname()[1]
        thread.join(10)
