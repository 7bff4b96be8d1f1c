"""The proxy's process: a port in front of each broker, a delay of every response, a count of requests.

    python -m tests.bench.proxy DELAY_MS PORT…

It prints its own ports as a line of JSON. For every line on stdin it prints the number of requests since the last
one, by API key. It ends when stdin does. It is a process of its own so that it shares no interpreter with the
code that is measured.
"""

from __future__ import annotations

import asyncio
import json
import selectors
import sys
from collections import Counter
from collections.abc import Coroutine, Mapping
from functools import partial
from typing import Any, Final, Protocol

from .frames import ProxiedConnection, Splitter

_HOST: Final = "127.0.0.1"
_READ_SIZE: Final = 1 << 18


async def serve(delay_s: float, brokers: list[int]) -> None:
    """Listen until stdin ends."""
    tally: Counter[int] = Counter()
    ports: dict[int, int] = {}
    for broker in brokers:
        server = await asyncio.start_server(
            partial(_serve_client, broker=broker, delay_s=delay_s, tally=tally, ports=ports), _HOST, 0
        )
        ports[broker] = server.sockets[0].getsockname()[1]
    _print_json([ports[broker] for broker in brokers])
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while await lines.readline():
        _print_json(tally)
        tally.clear()


class Sink(Protocol):
    """The part of asyncio's StreamWriter that frames are written with."""

    def write(self, data: bytes, /) -> None: ...

    async def drain(self) -> None: ...


async def delay_frames(frames: asyncio.Queue[tuple[float, bytes]], writer: Sink, *, delay_s: float) -> None:
    """Write each frame `delay_s` after its arrival, however many are in flight."""
    loop = asyncio.get_running_loop()
    while True:
        arrived_at, frame = await frames.get()
        if (wait_s := arrived_at + delay_s - loop.time()) > 0:
            await asyncio.sleep(wait_s)
        writer.write(frame)
        await writer.drain()


async def _serve_client(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    *,
    broker: int,
    delay_s: float,
    tally: Counter[int],
    ports: Mapping[int, int],
) -> None:
    try:
        upstream_reader, upstream_writer = await asyncio.open_connection(_HOST, broker)
    except OSError:
        writer.close()
        return
    connection = ProxiedConnection(tally, ports)
    frames: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
    await _until_one_ends(
        _forward_requests(reader, upstream_writer, connection),
        _queue_responses(upstream_reader, frames, connection),
        delay_frames(frames, writer, delay_s=delay_s),
    )
    writer.close()
    upstream_writer.close()


async def _forward_requests(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: ProxiedConnection
) -> None:
    splitter = Splitter()
    while piece := await reader.read(_READ_SIZE):
        for frame in splitter.feed(piece):
            connection.record_request(frame)
            writer.write(frame)
        await writer.drain()


async def _queue_responses(
    reader: asyncio.StreamReader, frames: asyncio.Queue[tuple[float, bytes]], connection: ProxiedConnection
) -> None:
    splitter = Splitter()
    loop = asyncio.get_running_loop()
    while piece := await reader.read(_READ_SIZE):
        for frame in splitter.feed(piece):
            frames.put_nowait((loop.time(), connection.redirect(frame)))


async def _until_one_ends(*parts: Coroutine[Any, Any, None]) -> None:
    tasks = [asyncio.ensure_future(part) for part in parts]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()
    # Most clients close their connection while a task reads or writes.
    await asyncio.gather(*tasks, return_exceptions=True)


def _print_json(value: object) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    # The default selector wakes up on whole milliseconds only, which is a tenth of the delay.
    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selectors.SelectSelector())) as runner:
        runner.run(serve(float(sys.argv[1]) / 1000, [int(port) for port in sys.argv[2:]]))
