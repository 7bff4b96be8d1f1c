"""The HTTP server: /metrics, /healthz and /readyz, on a thread for each connection."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, NamedTuple

from kafka_groups import __version__
from kafka_groups.errors import SettingsError
from kafka_groups.exporter.scrape import Encoding, ScrapedCluster, choose_encoding
from kafka_groups.exporter.web_config import Access

# A client that takes longer for its TLS handshake is disconnected.
_HANDSHAKE_TIMEOUT_S: Final = 10.0
# A client that sends or reads nothing for this time is disconnected. It is longer than the usual minute between two
# scrapes, which then have one connection.
_IDLE_TIMEOUT_S: Final = 65.0
_MOST_CONNECTIONS: Final = 64
_TIMEOUT_HEADER: Final = "X-Prometheus-Scrape-Timeout-Seconds"
# What the response takes after the polls have ended; a short timeout keeps half of itself.
_RESPONSE_S: Final = 0.5
_PLAIN: Final = "text/plain; charset=utf-8"
# Window bits of zlib for the gzip format, and the level that costs least.
_GZIP_BITS: Final = 31
_GZIP_LEVEL: Final = 1
_INDEX: Final = (
    "<html><head><title>kafka-groups</title></head><body><h1>kafka-groups</h1>"
    '<p><a href="/metrics">Metrics</a></p></body></html>\n'
)


class Content(NamedTuple):
    """What the server shows: the clusters of a scrape within a time, their text, and whether the exporter is ready."""

    scrape: Callable[[float | None], list[ScrapedCluster]]
    format: Callable[[list[ScrapedCluster], Encoding], Iterable[bytes]]
    is_ready: Callable[[], bool]


class WebServer(ThreadingHTTPServer):
    """A server that listens on an address. Threads of connections end with the process."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], content: Content, access: Access, log: Callable[[str], None]) -> None:
        family, _, _, _, sockaddr = socket.getaddrinfo(*address, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        self.address_family = family
        self.content = content
        self.access = access
        self.log = log
        self._connections = threading.BoundedSemaphore(_MOST_CONNECTIONS)
        super().__init__(sockaddr[:2], _Handler)  # type: ignore[arg-type]  # the host is a text

    def server_bind(self) -> None:
        """Bind the socket, without the look-up of a host name that http.server makes."""
        if self.address_family == socket.AF_INET6:
            # `[::]` means addresses of both versions.
            with contextlib.suppress(OSError):
                self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()

    @property
    def url(self) -> str:
        """Return the URL of the metrics."""
        host: str = self.socket.getsockname()[0]
        port = self.server_address[1]
        scheme = "http" if self.access.context() is None else "https"
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}/metrics"

    def process_request(self, request: Any, client_address: Any) -> None:
        """Start a thread for the connection, unless there are too many."""
        if not self._connections.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve a connection."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._connections.release()

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection, after its TLS handshake if there is TLS: files of the config are read again before."""
        request.settimeout(_HANDSHAKE_TIMEOUT_S)
        try:
            context = self.access.context()
            channel = request if context is None else context.wrap_socket(request, server_side=True)
        except (OSError, SettingsError) as error:
            self.log(f"Error: no TLS handshake with {client_address[0]}: {error}")
            return
        try:
            super().finish_request(channel, client_address)
        finally:
            if channel is not request:
                self.shutdown_request(channel)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that disconnect; print other errors in one line."""
        error = sys.exception()
        if not isinstance(error, OSError):
            self.log(f"Error: internal error in a response: {type(error).__name__}: {error}")


class _Handler(BaseHTTPRequestHandler):
    """The requests of one connection."""

    protocol_version = "HTTP/1.1"
    server_version = f"kafka-groups/{__version__}"
    sys_version = ""
    timeout = _IDLE_TIMEOUT_S
    # Headers and body are one packet where they are small.
    wbufsize = 1 << 16
    server: WebServer

    def do_GET(self) -> None:
        """Respond to GET."""
        self._respond()

    def do_HEAD(self) -> None:
        """Respond to HEAD: the headers of GET."""
        self._respond()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is http.server's
        """Print nothing: a line for each scrape says nothing new."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Respond with an error as plain text, and close the connection."""
        status = HTTPStatus(code)
        if status is HTTPStatus.NOT_IMPLEMENTED and self.command:
            status = HTTPStatus.METHOD_NOT_ALLOWED
        self.close_connection = True
        headers = {"Connection": "close"}
        if status is HTTPStatus.METHOD_NOT_ALLOWED:
            headers["Allow"] = "GET, HEAD"
        self._send(status, [f"{status.phrase}\n".encode()], _PLAIN, headers)

    def _respond(self) -> None:
        if not self.server.access.allows(self.headers.get("Authorization")):
            self.close_connection = True
            self._send(HTTPStatus.UNAUTHORIZED, [b"Unauthorized\n"], _PLAIN, {"WWW-Authenticate": "Basic"})
            return
        path = self.path.partition("?")[0]
        if path == "/metrics":
            self._send_metrics()
        elif path == "/healthz":
            self._send(HTTPStatus.OK, [b"OK\n"], _PLAIN)
        elif path == "/readyz":
            is_ready = self.server.content.is_ready()
            status = HTTPStatus.OK if is_ready else HTTPStatus.SERVICE_UNAVAILABLE
            self._send(status, [b"OK\n" if is_ready else b"no cluster is up\n"], _PLAIN)
        elif path == "/":
            self._send(HTTPStatus.OK, [_INDEX.encode()], "text/html; charset=utf-8")
        else:
            self._send(HTTPStatus.NOT_FOUND, [b"Not Found\n"], _PLAIN)

    def _send_metrics(self) -> None:
        encoding = choose_encoding(self.headers.get("Accept", ""))
        content = self.server.content
        clusters = content.scrape(read_timeout(self.headers.get(_TIMEOUT_HEADER)))
        parts = content.format(clusters, encoding)
        headers = {"Vary": "Accept, Accept-Encoding"}
        if accepts_gzip(self.headers.get("Accept-Encoding", "")):
            parts = compress(parts)
            headers["Content-Encoding"] = "gzip"
        self._send(HTTPStatus.OK, parts, encoding.content_type, headers)

    def _send(
        self, status: HTTPStatus, parts: Iterable[bytes], content_type: str, headers: dict[str, str] | None = None
    ) -> None:
        body = [*parts]
        self.send_response(status)
        for name, value in {"Content-Type": content_type, **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(sum(map(len, body))))
        self.end_headers()
        if self.command != "HEAD":
            for part in body:
                self.wfile.write(part)


def read_timeout(text: str | None) -> float | None:
    """Return the seconds that the polls of a scrape may take; None without a timeout that can be read.

    Prometheus sends its scrape timeout, in seconds.
    """
    try:
        seconds = float(text or "")
    except ValueError:
        return None
    return max(seconds - _RESPONSE_S, seconds / 2) if 0 < seconds < float("inf") else None


def accepts_gzip(header: str) -> bool:
    """Return whether an Accept-Encoding header accepts gzip."""
    for coding in header.lower().split(","):
        name, *parameters = (part.strip() for part in coding.split(";"))
        if name in ("gzip", "*"):
            return not any(parameter.startswith("q=") and _is_zero(parameter[2:]) for parameter in parameters)
    return False


def _is_zero(text: str) -> bool:
    try:
        return float(text) == 0
    except ValueError:
        return False


def compress(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the parts of a text as gzip."""
    compressor = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, _GZIP_BITS)
    for part in parts:
        if packed := compressor.compress(part):
            yield packed
    yield compressor.flush()
