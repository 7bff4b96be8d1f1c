"""The proxy of HTTPS requests, by HTTPS_PROXY and NO_PROXY; plain HTTP and loopback addresses have none."""

from __future__ import annotations

import socket
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote, urlsplit

from kafka_groups.settings.tokens.http_errors import HttpFailedError
from kafka_groups.settings.tokens.url_rules import is_loopback

CHECK_PROXY: Final = "check HTTPS_PROXY and NO_PROXY"
_DEFAULT_PORT: Final = 80
_LONGEST_HEAD: Final = 1 << 16
_READ_SIZE: Final = 4096
_STATUS_OK: Final = b"200"
_STATUS_PARTS: Final = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Proxy:
    """A proxy, and the value of its Proxy-Authorization header, which is secret; empty if it needs none."""

    host: str
    port: int
    authorization: str = field(default="", repr=False)

    @property
    def lead(self) -> str:
        """The beginning of an error that names the proxy, as the end of a sentence that begins with the endpoint."""
        return f"cannot be reached: the proxy {self.host}:{self.port}"


def find_proxy(scheme: str, host: str, port: int) -> Proxy | None:
    """Return the proxy for a host, None if it is reached directly. Raises HttpFailedError for an unusable proxy."""
    if scheme != "https" or is_loopback(host):
        return None
    from urllib.request import getproxies_environment, proxy_bypass

    text = getproxies_environment().get("https", "")
    if not text or proxy_bypass(f"{host}:{port}"):
        return None
    return _parse_proxy(text)


def connect_through(proxy: Proxy, host: str, port: int, connect: Callable[[str, int], socket.socket]) -> socket.socket:
    """Return a connection to a host through a proxy. Raises HttpFailedError, which names the proxy."""
    try:
        connection = connect(proxy.host, proxy.port)
    except (OSError, UnicodeError) as error:
        raise _unreachable(proxy, error) from None
    try:
        open_tunnel(connection, proxy, host, port)
    except OSError as error:
        connection.close()
        reason = (error.strerror or "no reason is known").lower()
        raise _proxy_error(proxy, f"closed the connection ({reason})", is_retriable=True) from None
    except HttpFailedError:
        connection.close()
        raise
    return connection


def _unreachable(proxy: Proxy, error: OSError | UnicodeError) -> HttpFailedError:
    if isinstance(error, socket.gaierror | UnicodeError):
        reason = getattr(error, "strerror", None) or "it is no valid name"
        return _proxy_error(proxy, f"has a host name that is not resolved ({reason.lower()})", is_retriable=True)
    reason = (getattr(error, "strerror", None) or "it did not respond in time").lower()
    problem = f"did not accept the connection ({reason})"
    return _proxy_error(proxy, problem, is_retriable=True, is_timeout=isinstance(error, TimeoutError))


def open_tunnel(connection: socket.socket, proxy: Proxy, host: str, port: int) -> None:
    """Connect to a host through a proxy (CONNECT, RFC 9110). Raises HttpFailedError if the proxy refuses it."""
    name = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    authorization = f"Proxy-Authorization: {proxy.authorization}\r\n" if proxy.authorization else ""
    connection.sendall(f"CONNECT {name} HTTP/1.1\r\nHost: {name}\r\n{authorization}\r\n".encode())
    head = b""
    # The host sends nothing before the handshake of TLS, so that no byte after the head can be lost.
    while not head.endswith(b"\r\n\r\n"):
        data = connection.recv(_READ_SIZE)
        head += data
        if not data or len(head) > _LONGEST_HEAD:
            raise _proxy_error(proxy, "sent no HTTP response")
    status = head.split(b" ", _STATUS_PARTS)[1:_STATUS_PARTS]
    if status != [_STATUS_OK]:
        shown = (status[0][:3].decode(errors="replace") if status else "").strip() or "none"
        raise _proxy_error(proxy, f"refused the connection with status {shown}")


def _proxy_error(
    proxy: Proxy, problem: str, *, is_retriable: bool = False, is_timeout: bool = False
) -> HttpFailedError:
    msg = f"{proxy.lead} {problem}; {CHECK_PROXY}"
    return HttpFailedError(msg, is_retriable=is_retriable, is_timeout=is_timeout)


def _parse_proxy(text: str) -> Proxy:
    """Return a proxy by its URL; without a scheme it is http."""
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        port = parts.port or _DEFAULT_PORT
    except ValueError:
        parts, port = urlsplit(""), 0
    if parts.scheme != "http" or not parts.hostname:
        # The text may have a password, so it is not repeated.
        msg = "cannot be reached: HTTPS_PROXY names no HTTP proxy; write http://HOST:PORT, or unset it"
        raise HttpFailedError(msg, is_retriable=False)
    user = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    authorization = f"Basic {b64encode(user.encode()).decode()}" if parts.username else ""
    return Proxy(host=parts.hostname, port=port, authorization=authorization)
