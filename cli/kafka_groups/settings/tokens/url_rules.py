"""The URLs that a secret may be sent to: https, and http to this machine and to the metadata addresses of clouds."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

# The address of the metadata endpoints of Azure and GCP, which a cloud's machines alone reach.
METADATA_HOST: Final = "169.254.169.254"
_HTTP_HOSTS: Final = frozenset({METADATA_HOST, "localhost"})
_PRINTABLE: Final = re.compile(r"[\x21-\x7E]+")


def find_url_problem(url: str) -> str:
    """Return why no request may be sent to a URL, and the next step, as the end of a sentence; empty if it may."""
    if not _PRINTABLE.fullmatch(url):
        return "has a blank, a control character or a letter that is not ASCII; write it percent-encoded"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "is no URL; write https://HOST/PATH"
    if parts.scheme.lower() not in {"http", "https"} or not parts.hostname or port == 0:
        return "is not supported; write https://HOST/PATH or file:///PATH"
    if "@" in parts.netloc:
        return "has a user name; remove it, and set the client's id and secret by their properties"
    if parts.scheme.lower() == "http" and not (parts.hostname in _HTTP_HOSTS or is_loopback(parts.hostname)):
        return "would send secrets without encryption; write https://HOST/PATH"
    return ""


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine, by `localhost` or by an address."""
    from ipaddress import ip_address

    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
