"""A scripted token endpoint (OAuth 2.0, OIDC) on a loopback port, over HTTP or HTTPS.

`respond` returns the response to each request; a test scripts the next ones, which are used first:

    server.script(Answer(503), drip(b"x", every_s=0.1))
    server.script(json_answer({"access_token": token}))
"""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
from base64 import b64encode
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeAlias
from urllib.parse import parse_qs, urlsplit

from tests.fakes.jwt_tokens import make_claims, make_key, sign_token

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey


@dataclass(frozen=True, kw_only=True)
class HttpRequest:
    """A request as the endpoint received it; names of headers are in lower case, `body` is its text."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: str

    @property
    def form(self) -> dict[str, str]:
        """The fields of a body in application/x-www-form-urlencoded."""
        return {name: values[0] for name, values in parse_qs(self.body, keep_blank_values=True).items()}

    @property
    def query(self) -> dict[str, str]:
        """The fields of the query of the URL."""
        return {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}


@dataclass(frozen=True)
class Answer:
    """A response: its status, body and headers. `send_body` writes the body itself, for slow or broken responses."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    send_body: Callable[[socket.socket], None] | None = None


Respond: TypeAlias = Callable[[HttpRequest], Answer]


def json_answer(document: Any, status: int = 200) -> Answer:
    """Return a response with a JSON document."""
    return Answer(status, json.dumps(document).encode(), {"Content-Type": "application/json"})


def drip(data: bytes, *, every_s: float) -> Answer:
    """Return a response whose body arrives one byte at a time."""

    def send(connection: socket.socket) -> None:
        for byte in data:
            connection.sendall(bytes([byte]))
            time.sleep(every_s)

    return Answer(200, headers={"Content-Length": str(len(data))}, send_body=send)


def silence(seconds: float) -> Answer:
    """Return a response whose body never comes; the connection is closed after some seconds."""
    return Answer(200, headers={"Content-Length": "10"}, send_body=lambda _: time.sleep(seconds))


class TokenServer:
    """A token endpoint that issues JWTs of its `key` for one client, and counts requests. Use it as a context manager.

    `certificate` is a PEM file with a certificate and its key; the endpoint then speaks TLS. `requests` has every
    request. `claims` are added to those of each token, whose `sub` is the client's id.
    """

    def __init__(
        self,
        *,
        client_id: str = "my-client",
        client_secret: str = "my-secret",
        certificate: Path | None = None,
        key: RSAPrivateKey | None = None,
        lifetime_s: float = 3600,
        claims: Mapping[str, Any] | None = None,
    ) -> None:
        self.client_id = client_id
        self.client_secret = client_secret
        self.key = key or make_key()
        self.lifetime_s = lifetime_s
        self.claims = dict(claims or {})
        self.requests: list[HttpRequest] = []
        self.respond: Respond = self.issue_token
        self._scripted: deque[Answer] = deque()
        self._scheme = "http" if certificate is None else "https"
        self._server = _Server(("127.0.0.1", 0), _handler_of(self))
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self._server.tls = context
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def port(self) -> int:
        """The port on 127.0.0.1."""
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """The URL of the token endpoint."""
        return f"{self._scheme}://127.0.0.1:{self.port}/token"

    def script(self, *answers: Answer) -> None:
        """Return these responses to the next requests, in their order."""
        self._scripted.extend(answers)

    def answer(self, request: HttpRequest) -> Answer:
        """Return the response to a request, and record the request."""
        self.requests.append(request)
        return self._scripted.popleft() if self._scripted else self.respond(request)

    def issue_token(self, request: HttpRequest) -> Answer:
        """Return a token for the client's id and secret, else the error of RFC 6749, section 5.2."""
        credentials = b64encode(f"{self.client_id}:{self.client_secret}".encode()).decode()
        if request.headers.get("authorization") != f"Basic {credentials}":
            document = {"error": "invalid_client", "error_description": "Invalid client or Invalid client credentials"}
            return json_answer(document, 401)
        return json_answer({"access_token": self.make_token(), "token_type": "Bearer", "expires_in": self.lifetime_s})

    def make_token(self, **claims: Any) -> str:
        """Return a token of the client; `claims` precede those of the server."""
        made = make_claims(self.client_id, lifetime_s=self.lifetime_s)
        return sign_token(self.key, {**made, **self.claims, **claims})


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    tls: ssl.SSLContext | None = None

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Complete the TLS handshake in the thread of the connection, so that a slow client blocks no other one."""
        if self.tls is not None:
            # A client that does not trust the certificate ends the handshake.
            try:
                request = self.tls.wrap_socket(request, server_side=True)
            except OSError:
                return
        super().finish_request(request, client_address)
        if self.tls is not None:
            with suppress(OSError):
                request.close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing: clients of the tests close connections at any time."""


def _handler_of(server: TokenServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def _respond(self) -> None:
            length = int(self.headers.get("Content-Length", "0"))
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = self.rfile.read(length).decode()
            answer = server.answer(HttpRequest(method=self.command, path=self.path, headers=headers, body=body))
            self.send_response(answer.status)
            for name, value in {"Content-Length": str(len(answer.body)), **answer.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            with suppress(OSError):
                if answer.send_body is not None:
                    answer.send_body(self.connection)
                else:
                    self.wfile.write(answer.body)

        do_GET = do_POST = _respond  # noqa: N815 # Names of the base class.

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            del format, args

    return Handler
