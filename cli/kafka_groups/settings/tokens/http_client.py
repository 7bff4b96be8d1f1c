"""One HTTP request of bounded time and size, for endpoints that return tokens.

The exchange runs in a thread of its own, which is a daemon, because a name lookup cannot be ended. The caller waits
until the limit and then closes the connection, so that also a server that sends a byte a second ends in time.
No redirect is followed, as a secret would follow it.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlsplit

from kafka_groups.settings.limits import Limit
from kafka_groups.settings.tokens.http_errors import CHECK_URL, HttpFailedError, explain_failure
from kafka_groups.settings.tokens.http_proxy import CHECK_PROXY, connect_through, find_proxy

if TYPE_CHECKING:
    import ssl
    from http.client import HTTPConnection, HTTPResponse

_MOST_BYTES: Final = 1 << 20
_TICK_S: Final = 0.05
# With less, a socket would not wait at all.
_LEAST_TIMEOUT_S: Final = 0.05
_PORTS: Final = {"http": 80, "https": 443}


class _Step(NamedTuple):
    """A step of an exchange: what the peer has not done if the time ends in it, and what to check then."""

    problem: str
    check: str = CHECK_URL


_CONNECTION: Final = _Step("accepted no connection")
_HANDSHAKE: Final = _Step("did not complete the TLS handshake")
_RESPONSE: Final = _Step("sent no complete response")


@dataclass(frozen=True, kw_only=True, slots=True)
class HttpSettings:
    """The CA certificates of endpoints, by default the system's, and the seconds for a connection and a response."""

    ca_file: str | None = None
    ca_pem: str | None = field(default=None, repr=False)
    connect_timeout_s: float | None = None
    read_timeout_s: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class HttpRequest:
    """A request; the URL, the headers and the body may have secrets, so the repr does not show them."""

    method: str
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class HttpResponse:
    """A response; its body may be a token, so the repr does not show it. `location` is the target of a redirect."""

    status: int
    body: bytes = field(repr=False)
    content_type: str = ""
    location: str = field(default="", repr=False)


def send_request(request: HttpRequest, settings: HttpSettings, limit: Limit) -> HttpResponse:
    """Return the response to a request, whatever its status.

    Raises HttpFailedError if there is none until the limit, or within the timeouts of the settings.
    """
    exchange = _Exchange(request, settings, limit.remaining_s())
    exchange.start()
    try:
        return _wait(exchange, settings, limit)
    finally:
        exchange.close()


def _wait(exchange: _Exchange, settings: HttpSettings, limit: Limit) -> HttpResponse:
    started = limit.clock()
    connected: float | None = None
    while not exchange.finished.wait(_TICK_S):
        now = limit.clock()
        step = exchange.step
        if step is _RESPONSE and connected is None:
            connected = now
        step_s = settings.connect_timeout_s if connected is None else settings.read_timeout_s
        step_started = started if connected is None else connected
        if step_s is not None and now >= step_started + step_s:
            raise _timeout_error(step_s, step)
        if now >= started + exchange.longest_s or limit.is_over():
            raise _timeout_error(exchange.longest_s, step)
    return exchange.result()


def _timeout_error(seconds: float, step: _Step) -> HttpFailedError:
    msg = f"{step.problem} within {round(seconds, 1):g} s; {step.check}"
    return HttpFailedError(msg, is_timeout=True)


class _Exchange:
    """A request and its response, in a thread. `close` ends it from outside, at any of its steps but a name lookup."""

    def __init__(self, request: HttpRequest, settings: HttpSettings, longest_s: float) -> None:
        self.finished = threading.Event()
        self.step = _CONNECTION
        self.longest_s = longest_s
        self._request = request
        self._settings = settings
        self._lock = threading.Lock()
        self._is_closed = False
        self._handle: socket.socket | None = None
        self._response: HttpResponse | None = None
        self._error: HttpFailedError | None = None

    def start(self) -> None:
        threading.Thread(target=self._run, name="request token", daemon=True).start()

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            if self._handle is not None:
                _shut_down(self._handle)
                self._handle = None

    def result(self) -> HttpResponse:
        if self._error is not None:
            raise self._error
        assert self._response is not None
        return self._response

    def _run(self) -> None:
        try:
            self._response = _exchange(self._request, self._settings, self._connect, self._begin)
        except HttpFailedError as error:
            self._error = error
        except Exception as error:  # noqa: BLE001 # In this thread nobody else would report it.
            self._error = explain_failure(error)
        self.finished.set()

    def _connect(self, host: str, port: int) -> socket.socket:
        connection = _open_connection(host, port, self._settings.connect_timeout_s or self.longest_s)
        with self._lock:
            if self._is_closed:
                connection.close()
                raise ConnectionAbortedError
            # TLS takes the socket over; its duplicate is the same connection.
            self._handle = connection.dup()
        return connection

    def _begin(self, step: _Step) -> None:
        self.step = step


def _exchange(
    request: HttpRequest,
    settings: HttpSettings,
    connect: Callable[[str, int], socket.socket],
    begin: Callable[[_Step], None],
) -> HttpResponse:
    # Imported here, as few commands fetch a token over HTTP.
    from http.client import HTTPConnection, HTTPSConnection

    parts = urlsplit(request.url)
    host, port = parts.hostname or "", parts.port or _PORTS[parts.scheme]
    proxy = find_proxy(parts.scheme, host, port)
    context = _create_context(settings) if parts.scheme == "https" else None
    if proxy is not None:
        begin(_Step(f"{proxy.lead} opened no connection to it", CHECK_PROXY))
    with connect_through(proxy, host, port, connect) if proxy else connect(host, port) as connection:
        if context is None:
            begin(_RESPONSE)
            return _send(HTTPConnection(host, port), connection, request)
        begin(_HANDSHAKE)
        with context.wrap_socket(connection, server_hostname=host.removesuffix(".")) as encrypted:
            begin(_RESPONSE)
            return _send(HTTPSConnection(host, port, context=context), encrypted, request)


def _send(client: HTTPConnection, connection: socket.socket, request: HttpRequest) -> HttpResponse:
    parts = urlsplit(request.url)
    target = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
    client.sock = connection
    client.request(request.method, target, request.body, {**request.headers, "Connection": "close"})
    with client.getresponse() as response:
        return HttpResponse(
            status=response.status,
            body=_read_body(response),
            content_type=response.headers.get_content_type(),
            location=response.headers.get("Location", ""),
        )


def _read_body(response: HTTPResponse) -> bytes:
    from http.client import IncompleteRead

    body = response.read(_MOST_BYTES + 1)
    if len(body) > _MOST_BYTES:
        msg = f"sent more than {_MOST_BYTES:,} bytes; check that the URL is that of a token endpoint"
        raise HttpFailedError(msg, is_retriable=False)
    if response.length:
        # A read of a number of bytes does not report that the rest is missing.
        raise IncompleteRead(b"", response.length)
    return body


def _open_connection(host: str, port: int, longest_s: float) -> socket.socket:
    """Return a connection to the first address that accepts one; each gets an equal share of the time that is left."""
    addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    error: OSError = TimeoutError()
    for family, kind, protocol, _, address in addresses:
        try:
            return _connect(socket.socket(family, kind, protocol), address, longest_s / len(addresses))
        except OSError as problem:
            error = problem
    raise error


def _connect(connection: socket.socket, address: Any, longest_s: float) -> socket.socket:
    try:
        connection.settimeout(max(longest_s, _LEAST_TIMEOUT_S))
        connection.connect(address)
    except OSError:
        connection.close()
        raise
    connection.settimeout(None)
    return connection


def _create_context(settings: HttpSettings) -> ssl.SSLContext:
    from ssl import create_default_context

    file = settings.ca_file
    is_directory = file is not None and Path(file).is_dir()
    try:
        return create_default_context(
            cafile=None if is_directory else file, capath=file if is_directory else None, cadata=settings.ca_pem
        )
    except (OSError, ValueError) as error:
        name = f"https.ca.location={file}" if settings.ca_pem is None else "https.ca.pem"
        reason = "it has no certificate in PEM"
        if isinstance(error, FileNotFoundError | PermissionError):
            reason = (error.strerror or str(error)).lower()
        msg = f"cannot be verified: {name} cannot be used: {reason}; write a PEM file with the CA"
        raise HttpFailedError(msg, is_retriable=False) from None


def _shut_down(connection: socket.socket) -> None:
    # The peer may have closed the connection.
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
