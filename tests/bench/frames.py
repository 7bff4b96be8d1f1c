"""Frames of Kafka's protocol: split from bytes, counted by API, with the proxy's ports in responses. Pure."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Mapping
from typing import Final

_SIZE: Final = struct.Struct(">i")
_REQUEST_HEAD: Final = struct.Struct(">ihhi")
_CORRELATION: Final = struct.Struct(">ii")
_HOST: Final = b"127.0.0.1"
_METADATA, _FIND_COORDINATOR, _DESCRIBE_CLUSTER = 3, 10, 60
# The responses of these APIs name brokers by host and port.
_WITH_ADDRESSES: Final = frozenset({_METADATA, _FIND_COORDINATOR, _DESCRIBE_CLUSTER})


class Splitter:
    """A buffer that takes bytes as they arrive and returns whole frames, each with its size in front."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, piece: bytes) -> list[bytes]:
        """Return the frames that this piece completes."""
        self._rest += piece
        frames: list[bytes] = []
        at = 0
        while len(self._rest) - at >= _SIZE.size:
            end = at + _SIZE.size + _SIZE.unpack_from(self._rest, at)[0]
            if len(self._rest) < end:
                break
            frames.append(bytes(memoryview(self._rest)[at:end]))
            at = end
        del self._rest[:at]
        return frames


class ProxiedConnection:
    """One connection of a client to a broker. `tally` counts its requests by API key.

    `ports` maps the ports of brokers to ports of the proxy, so that a client that receives the address of a broker
    connects to the proxy.
    """

    def __init__(self, tally: Counter[int], ports: Mapping[int, int]) -> None:
        self._tally = tally
        self._addresses = {_address(broker): _address(proxy) for broker, proxy in ports.items()}
        self._with_addresses: set[int] = set()

    def record_request(self, frame: bytes) -> None:
        """Count a request, and remember its correlation id if its response names brokers."""
        _, api_key, _, correlation = _REQUEST_HEAD.unpack_from(frame)
        self._tally[api_key] += 1
        if api_key in _WITH_ADDRESSES:
            self._with_addresses.add(correlation)

    def redirect(self, frame: bytes) -> bytes:
        """Return the response with the proxy's ports instead of the brokers'; its length is the same."""
        _, correlation = _CORRELATION.unpack_from(frame)
        if correlation not in self._with_addresses:
            return frame
        self._with_addresses.remove(correlation)
        for broker, proxy in self._addresses.items():
            frame = frame.replace(broker, proxy)
        return frame


def _address(port: int) -> bytes:
    # A host is followed by its port as int32 in every version of these messages.
    return _HOST + _SIZE.pack(port)
