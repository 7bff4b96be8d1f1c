"""A socket that never blocks, sends bytes and receives frames; `tls.TlsChannel` is the one with TLS."""

from __future__ import annotations

import errno
import os
import selectors
import socket
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from kafka_groups.errors import (
    AdminError,
    ConnectionFailedError,
    MalformedResponseError,
    NoConnectionError,
    ResponseTooLargeError,
    TlsFailedError,
)

if TYPE_CHECKING:
    from kafka_groups.settings import Endpoint

# The address family, and the argument of socket.connect.
Address: TypeAlias = tuple[int, tuple[str, int] | tuple[str, int, int, int]]

_READ_SIZE: Final = 1 << 18
_SIZE_BYTES: Final = 4
# A response with the offsets of some 3,000,000 partitions; a larger size is not valid.
_LARGEST_FRAME: Final = 1 << 27
# Limits of one call, so that a peer that sends without pause does not keep the event loop past a deadline.
# The rest stays in the socket, and the selector reports it again.
_LARGEST_READ: Final = 1 << 23
_MAX_FRAMES: Final = 64
# The limit of the first response, before the peer is known to be a Kafka broker.
_LARGEST_FIRST_FRAME: Final = 1 << 20
_TLS_ALERT: Final = b"\x15\x03"


class Channel:
    """A connection to the first reachable address of a list. All methods return at once.

    `tls_protocol` is the security protocol that errors suggest for a listener with TLS. Every failure is raised as an
    AdminError without the address, which the connection pool adds.
    """

    # The exceptions of a socket that would have to wait.
    would_block: tuple[type[Exception], ...] = (BlockingIOError,)
    # The security protocol of this channel with SASL.
    sasl_protocol = "SASL_PLAINTEXT"

    def __init__(self, addresses: list[Address], *, tls_protocol: str = "SSL") -> None:
        self._tls_protocol = tls_protocol
        self._addresses = list(addresses)
        self._tried: list[Address] = []
        self._out = bytearray()
        self._in = bytearray()
        self._frames = 0
        self._connect_error: OSError | None = None
        self._pending_error: AdminError | None = None
        self.received = 0
        # Bytes that were queued, and those of them that the system has taken. A TLS record that the system took
        # only in part does not count, because the peer cannot read it.
        self.queued = self.written = 0
        self.is_connected = False
        self.is_open = False
        self.socket = self._start_next()

    @property
    def remaining_addresses(self) -> int:
        """The number of addresses that were not tried yet."""
        return len(self._addresses)

    @property
    def address(self) -> str:
        """The address of the connection, or of the last one that was tried."""
        return self._tried[-1][1][0]

    def addresses_again(self) -> list[Address]:
        """Return the address of this connection and those that were not tried yet, for a new channel."""
        return [*self._tried[-1:], *self._addresses]

    def try_next_address(self) -> None:
        """Replace a connection that is not established by one to the next address. AdminError if there is none."""
        self.socket.close()
        self.socket = self._start_next()

    def wanted_events(self) -> int:
        """Return the events that the selector has to wait for."""
        if not self.is_connected:
            return selectors.EVENT_WRITE
        # What is queued is sent after the handshake, so only an open channel waits to send it.
        return selectors.EVENT_READ | (selectors.EVENT_WRITE if self._out and self.is_open else 0)

    def send(self, frame: bytes) -> None:
        """Queue a frame; `advance` sends it."""
        self.queued += len(frame)
        self._out += frame

    def advance(self) -> list[bytes]:
        """Connect, complete the handshake, read and write as far as possible without waiting; return whole frames.

        It reads first, so that nothing is written to a connection that the peer has closed.
        """
        try:
            if not self.is_connected and not self._finish_connect():
                return []
            if not self.is_open:
                self.is_open = self.continue_handshake()
            if not self.is_open:
                return []
            frames = self._read_frames()
            if self._pending_error is None:
                self._flush(frames)
        except OSError as error:
            raise self.to_failure(error) from error
        return frames

    def continue_handshake(self) -> bool:
        """Continue what has to precede the first frame; return whether it is complete. A plain channel has nothing."""
        return True

    def to_failure(self, error: OSError) -> AdminError:
        """Return what an error of the socket means."""
        return self._connection_error(_reason(error))

    def likely_cause(self) -> str:
        """Return the likely cause if the peer closes the connection at the first request."""
        return f"the listener may require TLS (-X security.protocol={self._tls_protocol}), or may not be Kafka's"

    def close(self) -> None:
        """Close the socket."""
        self.socket.close()

    def _start_next(self) -> socket.socket:
        while self._addresses:
            family, address = self._addresses.pop(0)
            self._tried.append((family, address))
            try:
                sock = socket.socket(family, socket.SOCK_STREAM)
                sock.setblocking(False)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            except OSError as error:
                self._connect_error = error
                continue
            code = sock.connect_ex(address)
            if code in (0, errno.EINPROGRESS, errno.EWOULDBLOCK):
                return sock
            self._connect_error = OSError(code, os.strerror(code))
            sock.close()
        raise NoConnectionError(_reason(self._connect_error)) from self._connect_error

    def _finish_connect(self) -> bool:
        code = self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            self._connect_error = OSError(code, os.strerror(code))
            self.socket.close()
            self.socket = self._start_next()
            return False
        try:
            self.socket.getpeername()
        except OSError:
            # No error and no peer: the socket is still connecting.
            return False
        self.is_connected = True
        return True

    def _flush(self, frames: list[bytes]) -> None:
        while self._out:
            try:
                sent = self.socket.send(memoryview(self._out)[:_READ_SIZE].tobytes())
            except self.would_block:
                return
            except OSError as error:
                # As in `_read_frames`: whole frames are delivered first.
                if not frames:
                    raise
                self._pending_error = self.to_failure(error)
                return
            self.written += sent
            del self._out[:sent]

    def _read_frames(self) -> list[bytes]:
        frames: list[bytes] = []
        try:
            limit = self.received + _LARGEST_READ
            while self.received < limit and len(frames) < _MAX_FRAMES and (chunk := self._receive()):
                self._in += chunk
                self.received += len(chunk)
                self._extract_frames(frames)
        except AdminError as error:
            # Whole frames are delivered first; the next call raises the error.
            if not frames:
                raise
            self._pending_error = error
        return frames

    def _receive(self) -> bytes:
        """Return the bytes that have arrived, b"" if none have."""
        if self._pending_error is not None:
            raise self._pending_error
        try:
            chunk = self.socket.recv(_READ_SIZE)
        except self.would_block:
            return b""
        except OSError as error:
            raise self.to_failure(error) from error
        if not chunk:
            raise self._connection_error("closed the connection")
        return chunk

    def _extract_frames(self, frames: list[bytes]) -> None:
        at = 0
        while len(self._in) - at >= _SIZE_BYTES:
            size = self._checked_size(bytes(self._in[at : at + _SIZE_BYTES]))
            end = at + _SIZE_BYTES + size
            if len(self._in) < end:
                break
            frames.append(bytes(memoryview(self._in)[at + _SIZE_BYTES : end]))
            self._frames += 1
            at = end
        del self._in[:at]

    def _checked_size(self, head: bytes) -> int:
        size = int.from_bytes(head, "big", signed=True)
        if _SIZE_BYTES <= size <= (_LARGEST_FRAME if self._frames else _LARGEST_FIRST_FRAME):
            return size
        if head.startswith(_TLS_ALERT):
            raise self._tls_required()
        if self._frames == 0:
            shown = head.decode("ascii", "backslashreplace")
            msg = f"the peer does not speak Kafka's protocol (it sent {shown!r} first); check host and port"
            raise MalformedResponseError(msg)
        if size > _LARGEST_FRAME:
            msg = f"the response has {size:,} bytes, more than the {_LARGEST_FRAME:,} that this tool reads"
            raise ResponseTooLargeError(msg)
        msg = f"received a response with an invalid size of {size} bytes"
        raise MalformedResponseError(msg)

    def _tls_required(self) -> TlsFailedError:
        return TlsFailedError(f"the listener uses TLS; set -X security.protocol={self._tls_protocol}")

    def _connection_error(self, reason: str) -> AdminError:
        if self._frames == 0 and self._in.startswith(_TLS_ALERT):
            return self._tls_required()
        if self._frames == 0 and not self._in:
            reason += f" at the first request; {self.likely_cause()}"
        return ConnectionFailedError(reason)


def _reason(error: OSError | None) -> str:
    if error is None:
        return "the host name has no address"
    return (error.strerror or str(error) or type(error).__name__).lower()


def numeric_addresses(endpoint: Endpoint) -> list[Address] | None:
    """Return the address of a host that is an IP address and needs no lookup; None for a name."""
    try:
        infos = socket.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return None
    return addresses_of(infos)


def addresses_of(infos: Iterable[tuple[Any, ...]]) -> list[Address]:
    """Return the addresses in the result of socket.getaddrinfo."""
    return [(family, address) for family, _, _, _, address in infos]
