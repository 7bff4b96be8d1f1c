"""A socket that connects and never blocks: bytes out, frames in. One that speaks TLS is `tls.TlsChannel`."""

from __future__ import annotations

import errno
import os
import selectors
import socket
from typing import TYPE_CHECKING, Final

from kafka_groups.errors import AdminError, ConnectionFailedError, MalformedResponseError, TlsFailedError

if TYPE_CHECKING:
    from kafka_groups.admin.network.resolver import Address

_READ_SIZE: Final = 1 << 18
_SIZE_BYTES: Final = 4
# An answer with the offsets of some 3,000,000 partitions; what claims more is no answer.
_LARGEST_FRAME: Final = 1 << 27
# What one call reads at most, so that a peer that sends without pause does not keep us past a deadline.
# The rest stays in the socket, and the selector tells of it again.
_LARGEST_READ: Final = 1 << 23
_MOST_FRAMES: Final = 64
# What answers ApiVersions before we know that it is Kafka may not claim more than this.
_LARGEST_FIRST_FRAME: Final = 1 << 20
_TLS_ALERT: Final = b"\x15\x03"


class Channel:
    """One connection to one address list, tried in order. All methods return at once.

    `with_tls` is the security protocol to name where a port speaks TLS. Every failure is raised as an AdminError
    without the address: who knows the broker adds it.
    """

    # What a socket raises when it would have to wait.
    would_block: tuple[type[Exception], ...] = (BlockingIOError,)
    # The security protocol that adds a login to what this channel speaks.
    with_login = "SASL_PLAINTEXT"

    def __init__(self, addresses: list[Address], *, with_tls: str = "SSL") -> None:
        self._with_tls = with_tls
        self._addresses = list(addresses)
        self._out = bytearray()
        self._in = bytearray()
        self._frames = 0
        self._connect_error: OSError | None = None
        self._end: AdminError | None = None
        self.received = 0
        self.is_connected = False
        self.is_open = False
        self.socket = self._start_next()

    @property
    def addresses_left(self) -> int:
        """How many addresses were not tried yet."""
        return len(self._addresses)

    def give_up_address(self) -> None:
        """Go on to the next address though this one said nothing. AdminError if none of the others can be tried."""
        self.socket.close()
        self.socket = self._start_next()

    def wanted_events(self) -> int:
        """What the selector is to wait for."""
        if not self.is_connected:
            return selectors.EVENT_WRITE
        return selectors.EVENT_READ | (selectors.EVENT_WRITE if self._out else 0)

    def send(self, frame: bytes) -> None:
        """Queue a frame; it leaves when the socket takes it."""
        self._out += frame
        if self.is_open:
            self._flush()

    def advance(self) -> list[bytes]:
        """Go on as far as it goes: connect, shake hands, write, read. Returns whole frames."""
        if not self.is_connected and not self._finish_connect():
            return []
        if not self.is_open:
            self.is_open = self.shake_hands()
        if not self.is_open:
            return []
        self._flush()
        return self._read_frames()

    def shake_hands(self) -> bool:
        """What is to be done between connecting and the first frame; whether it is done."""
        return True

    def suspicion(self) -> str:
        """What may be wrong with a peer that hangs up at once."""
        return f"perhaps the port wants TLS (-X security.protocol={self._with_tls}), or is not Kafka's"

    def close(self) -> None:
        """Let the socket go."""
        self.socket.close()

    def _start_next(self) -> socket.socket:
        while self._addresses:
            family, address = self._addresses.pop(0)
            try:
                sock = socket.socket(family, socket.SOCK_STREAM)
            except OSError as error:
                self._connect_error = error
                continue
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            code = sock.connect_ex(address)
            if code in (0, errno.EINPROGRESS, errno.EWOULDBLOCK):
                return sock
            self._connect_error = OSError(code, os.strerror(code))
            sock.close()
        raise ConnectionFailedError(_reason(self._connect_error)) from self._connect_error

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
            # No error and no peer: it is still connecting.
            return False
        self.is_connected = True
        return True

    def _flush(self) -> None:
        while self._out:
            try:
                sent = self.socket.send(memoryview(self._out)[:_READ_SIZE].tobytes())
            except self.would_block:
                return
            except OSError as error:
                raise ConnectionFailedError(_reason(error)) from error
            del self._out[:sent]

    def _read_frames(self) -> list[bytes]:
        frames: list[bytes] = []
        try:
            enough = self.received + _LARGEST_READ
            while self.received < enough and len(frames) < _MOST_FRAMES and (piece := self._receive()):
                self._in += piece
                self.received += len(piece)
                self._cut_frames(frames)
        except AdminError as error:
            # What came whole is delivered first; the next call tells the end.
            if not frames:
                raise
            self._end = error
        return frames

    def _receive(self) -> bytes:
        """What has come; nothing if that would mean to wait."""
        if self._end is not None:
            raise self._end
        try:
            piece = self.socket.recv(_READ_SIZE)
        except self.would_block:
            return b""
        except OSError as error:
            raise self._lost(_reason(error)) from error
        if not piece:
            raise self._lost("it closed the connection")
        return piece

    def _cut_frames(self, frames: list[bytes]) -> None:
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
            raise self._wants_tls()
        if self._frames == 0:
            shown = head.decode("ascii", "backslashreplace")
            msg = f"what answers there does not speak Kafka's protocol (its answer begins with {shown!r})"
            raise MalformedResponseError(msg)
        msg = f"an answer of {size} bytes was announced"
        raise MalformedResponseError(msg)

    def _wants_tls(self) -> TlsFailedError:
        return TlsFailedError(f"the port speaks TLS; add -X security.protocol={self._with_tls}")

    def _lost(self, reason: str) -> AdminError:
        if self._frames == 0 and self._in.startswith(_TLS_ALERT):
            return self._wants_tls()
        if self._frames == 0 and not self._in:
            reason += f" at our first request; {self.suspicion()}"
        return ConnectionFailedError(reason)


def _reason(error: OSError | None) -> str:
    if error is None:
        return "the host has no address to connect to"
    return (error.strerror or str(error) or type(error).__name__).lower()
