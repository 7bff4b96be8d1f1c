"""The proxy of HTTPS requests, and what has none: plain HTTP, this machine, the hosts of NO_PROXY."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_groups.settings.tokens.http_client import HttpSettings
from tests.fakes.http_proxy import running_proxy
from tests.fakes.raw_port import accepting_only, refusing, responding
from tests.fakes.token_server import TokenServer
from tests.settings.tokens.http_exchanges import failure, get
from tests.settings.tokens.token_sources import SECRET

pytestmark = pytest.mark.timeout(30)


def test_https_goes_through_the_proxy_of_the_environment(
    certificate: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = certificate("DNS:login.example")
    with TokenServer(certificate=path) as server, running_proxy(server.port) as (port, requests):
        monkeypatch.setenv("HTTPS_PROXY", f"http://me:p%40ss@127.0.0.1:{port}")
        assert get("https://login.example/token", HttpSettings(ca_file=str(path))).status == 401
        (request,) = requests
        assert request.decode().split("\r\n") == [
            "CONNECT login.example:443 HTTP/1.1",
            "Host: login.example:443",
            "Proxy-Authorization: Basic bWU6cEBzcw==",
            "",
            "",
        ]
        assert server.requests[0].headers["host"] == "login.example"


def test_a_proxy_that_refuses_is_named_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    with TokenServer() as server, running_proxy(server.port, b"407 Proxy Authentication Required") as (port, _):
        monkeypatch.setenv("HTTPS_PROXY", f"me:{SECRET}@127.0.0.1:{port}")
        assert str(failure("https://login.example/token")) == (
            f"cannot be reached: the proxy 127.0.0.1:{port} refused the connection with status 407; "
            "check HTTPS_PROXY and NO_PROXY"
        )


def test_a_proxy_that_refuses_connections_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with refusing() as endpoint:
        monkeypatch.setenv("HTTPS_PROXY", f"http://me:{SECRET}@{endpoint}")
        error = failure("https://login.example/token")
    assert str(error) == (
        f"cannot be reached: the proxy {endpoint} did not accept the connection (connection refused); "
        "check HTTPS_PROXY and NO_PROXY"
    )
    assert (error.is_retriable, error.is_timeout) == (True, False)


def test_a_proxy_whose_name_is_not_resolved_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    monkeypatch.setenv("HTTPS_PROXY", f"http://me:{SECRET}@proxy.example:3128")
    assert str(failure("https://login.example/token")) == (
        "cannot be reached: the proxy proxy.example:3128 has a host name that is not resolved "
        "(name or service not known); check HTTPS_PROXY and NO_PROXY"
    )


def test_a_silent_proxy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with accepting_only() as endpoint:
        monkeypatch.setenv("HTTPS_PROXY", f"http://{endpoint}")
        error = failure("https://login.example/token", HttpSettings(connect_timeout_s=0.3))
    assert str(error) == (
        f"cannot be reached: the proxy {endpoint} opened no connection to it within 0.3 s; "
        "check HTTPS_PROXY and NO_PROXY"
    )
    assert error.is_timeout


def test_a_proxy_that_closes_the_connection_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with responding() as endpoint:
        monkeypatch.setenv("HTTPS_PROXY", f"http://{endpoint}")
        text = str(failure("https://login.example/token"))
    assert text.startswith(f"cannot be reached: the proxy {endpoint} ")


@pytest.mark.parametrize("value", [f"socks5://me:{SECRET}@127.0.0.1:1", f"http://{SECRET}:port", "http://"])
def test_a_proxy_that_cannot_be_used_is_refused(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", value)
    assert str(failure("https://login.example/token")) == (
        "cannot be reached: HTTPS_PROXY names no HTTP proxy; write http://HOST:PORT, or unset it"
    )


@pytest.mark.parametrize("name", ["HTTPS_PROXY", "HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_plain_http_never_has_a_proxy(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "http://127.0.0.1:1")
    with TokenServer() as server:
        assert get(server.url).status == 401


def test_no_proxy_lists_hosts_without_a_proxy(
    certificate: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    resolve = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda _, port, **options: resolve("127.0.0.1", port, **options))
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("NO_PROXY", "other.example,.login.example")
    path = certificate("DNS:a.login.example")
    with TokenServer(certificate=path) as server:
        url = f"https://a.login.example:{server.port}/token"
        assert get(url, HttpSettings(ca_file=str(path))).status == 401
