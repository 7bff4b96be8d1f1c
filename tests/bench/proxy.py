"""The proxy's process: a port in front of each broker, a delay on every answer, a tally of requests.

    python -m tests.bench.proxy DELAY_MS PORT…

It prints its own ports as a line of JSON, then answers every line on stdin with the requests since the
last one, by API key, and ends when stdin does. It is a process of its own so that it shares no
interpreter with what is measured.
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

from .frames import Conversation, Splitter

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
    _say([ports[broker] for broker in brokers])
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while await lines.readline():
        _say(tally)
        tally.clear()


class Sink(Protocol):
    """What takes frames: as much of a StreamWriter as that needs."""

    def write(self, data: bytes, /) -> None: ...

    async def drain(self) -> None: ...


async def delay_frames(frames: asyncio.Queue[tuple[float, bytes]], writer: Sink, *, delay_s: float) -> None:
    """Write each frame `delay_s` after the time it came at, however many are under way."""
    loop = asyncio.get_running_loop()
    while True:
        came_at, frame = await frames.get()
        if (wait_s := came_at + delay_s - loop.time()) > 0:
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
    conversation = Conversation(tally, ports)
    frames: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
    await _until_one_ends(
        _pass_requests(reader, upstream_writer, conversation),
        _take_answers(upstream_reader, frames, conversation),
        delay_frames(frames, writer, delay_s=delay_s),
    )
    writer.close()
    upstream_writer.close()


async def _pass_requests(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, conversation: Conversation
) -> None:
    splitter = Splitter()
    while piece := await reader.read(_READ_SIZE):
        for frame in splitter.feed(piece):
            conversation.note_request(frame)
            writer.write(frame)
        await writer.drain()


async def _take_answers(
    reader: asyncio.StreamReader, frames: asyncio.Queue[tuple[float, bytes]], conversation: Conversation
) -> None:
    splitter = Splitter()
    loop = asyncio.get_running_loop()
    while piece := await reader.read(_READ_SIZE):
        for frame in splitter.feed(piece):
            frames.put_nowait((loop.time(), conversation.redirect(frame)))


async def _until_one_ends(*parts: Coroutine[Any, Any, None]) -> None:
    tasks = [asyncio.ensure_future(part) for part in parts]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()
    # A side that hangs up in the middle of something is how most clients end.
    await asyncio.gather(*tasks, return_exceptions=True)


def _say(value: object) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    # The usual selector wakes on whole milliseconds only, which is a tenth of what is to be added.
    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selectors.SelectSelector())) as runner:
        runner.run(serve(float(sys.argv[1]) / 1000, [int(port) for port in sys.argv[2:]]))
