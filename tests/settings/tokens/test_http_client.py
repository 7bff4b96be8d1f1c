"""HTTP exchanges of bounded time and size, whatever the server does."""

from __future__ import annotations

import socket
import threading
import time

import pytest

from kafka_groups.settings.limits import Limit
from kafka_groups.settings.tokens.http_client import HttpRequest, HttpSettings, send_request
from kafka_groups.settings.tokens.http_errors import HttpFailedError
from tests.fakes.raw_port import accepting_only, responding
from tests.fakes.token_server import Answer, TokenServer, drip, silence
from tests.settings.tokens.http_exchanges import failure, get
from tests.settings.tokens.token_sources import CLIENT, ENDPOINT, source_of

pytestmark = pytest.mark.timeout(30)


def wait_for_threads() -> None:
    """Wait until the threads of exchanges have ended."""
    until = time.monotonic() + 5
    while any(thread.name == "request token" for thread in threading.enumerate()):
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_response_has_status_body_and_type() -> None:
    with TokenServer() as server:
        server.script(Answer(418, b"tea", {"Content-Type": "text/plain; charset=utf-8"}))
        response = get(f"{server.url}?a=b")
        assert (response.status, response.body, response.content_type) == (418, b"tea", "text/plain")
        assert server.requests[0].path == "/token?a=b"
        assert server.requests[0].headers["host"] == f"127.0.0.1:{server.port}"


@pytest.mark.parametrize("answer", [drip(b"x" * 1000, every_s=0.05), silence(5)], ids=["drip", "silence"])
def test_a_slow_response_ends_at_the_limit_and_its_thread_too(answer: Answer) -> None:
    with TokenServer() as server:
        server.script(answer)
        error = failure(server.url, seconds=0.5)
        assert str(error) == "sent no complete response within 0.5 s; check the URL and the network"
        assert (error.is_retriable, error.is_timeout) == (True, True)
        wait_for_threads()


def test_headers_that_drip_end_at_the_limit() -> None:
    def send(connection: socket.socket) -> None:
        while True:
            connection.sendall(b"x")
            time.sleep(0.05)

    with responding(b"HTTP/1.1 200 OK\r\nA: ", then=send) as endpoint:
        assert "sent no complete response within 0.5 s" in str(failure(f"http://{endpoint}/", seconds=0.5))
        wait_for_threads()


def test_a_tls_handshake_without_a_reply_ends_at_the_timeout_of_connections() -> None:
    with accepting_only() as endpoint:
        settings = HttpSettings(connect_timeout_s=0.3)
        text = str(failure(f"https://{endpoint}/", settings))
        assert text == "did not complete the TLS handshake within 0.3 s; check the URL and the network"
        wait_for_threads()


def test_a_response_ends_at_the_timeout_of_reads() -> None:
    with TokenServer() as server:
        server.script(drip(b"x" * 1000, every_s=0.05))
        error = failure(server.url, HttpSettings(connect_timeout_s=9, read_timeout_s=0.3))
        assert str(error).startswith("sent no complete response within 0.3 s")


def test_timeouts_are_settings() -> None:
    timeouts = {"sasl.login.connect.timeout.ms": "250", "sasl.login.read.timeout.ms": "500"}
    source = source_of({ENDPOINT: "https://login.example/t", **CLIENT, **timeouts})
    settings = source.endpoint.http  # type: ignore[attr-defined] # Of this source alone.
    assert settings == HttpSettings(connect_timeout_s=0.25, read_timeout_s=0.5)


def test_a_cancelled_request_ends_at_once() -> None:
    with TokenServer() as server:
        server.script(silence(5))
        limit = Limit.after(20)
        threading.Timer(0.2, limit.cancel).start()
        started = time.monotonic()
        with pytest.raises(HttpFailedError):
            send_request(HttpRequest(method="GET", url=server.url), HttpSettings(), limit)
        assert time.monotonic() - started < 4


@pytest.mark.parametrize("has_length", [True, False])
def test_a_response_of_more_than_a_megabyte_is_refused(has_length: bool) -> None:
    megabyte = b"x" * (1 << 20)
    with TokenServer() as server:
        server.script(Answer(200, megabyte), Answer(200, 2 * megabyte))
        if not has_length:
            chunk = b"100000\r\n" + megabyte + b"\r\n"
            endless = Answer(200, headers={"Transfer-Encoding": "chunked"}, send_body=lambda c: c.sendall(chunk * 9))
            server.script(endless)
            get(server.url)
            server.requests.clear()
        assert len(get(server.url).body) == 1 << 20 if has_length else True
        error = failure(server.url)
        assert (str(error).split(";")[0], error.is_retriable) == ("sent more than 1,048,576 bytes", False)


def test_a_response_that_is_cut_is_an_error() -> None:
    with TokenServer() as server:
        cut = Answer(200, headers={"Content-Length": "9"}, send_body=lambda connection: connection.sendall(b"123"))
        server.script(cut)
        assert "closed the connection before its response was complete" in str(failure(server.url))


@pytest.mark.parametrize("pieces", [(b"\x00\x01garbage\r\n\r\n",), (b"HTTP/1.1 abc\r\n\r\n",)])
def test_a_server_that_does_not_speak_http_is_an_error(pieces: tuple[bytes, ...]) -> None:
    with responding(*pieces) as endpoint:
        assert str(failure(f"http://{endpoint}/")) == (
            "sent no HTTP response that can be read; check the port of the URL"
        )


def test_a_name_that_is_not_resolved_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    error = failure("https://login.example/token")
    assert str(error) == (
        "has a host name that is not resolved (name or service not known); check the URL and the network"
    )
    assert error.is_retriable


def test_the_second_address_is_tried_if_the_first_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    resolve = socket.getaddrinfo
    with TokenServer() as server:

        def find(_host: str, port: int, **options: int) -> list[object]:
            found = resolve("127.0.0.1", port, **options)
            return [(*found[0][:4], ("127.0.0.1", 1)), *found]

        monkeypatch.setattr(socket, "getaddrinfo", find)
        assert get(server.url).status == 401
