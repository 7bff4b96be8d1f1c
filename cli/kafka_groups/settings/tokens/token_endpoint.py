"""An endpoint that returns tokens: its URL, CA, timeouts and the backoff of its retries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import SplitResult, urlsplit, urlunsplit

from kafka_groups.errors import SettingsError
from kafka_groups.settings.pairs import Setting
from kafka_groups.settings.pem import CERTIFICATE, has_block, pem_blocks
from kafka_groups.settings.tokens.http_client import HttpSettings
from kafka_groups.settings.tokens.token_settings import ENDPOINT, optional_seconds_of, seconds_of, text_of
from kafka_groups.settings.tokens.url_rules import find_url_problem

CA_FILE: Final = "https.ca.location"
CA_PEM: Final = "https.ca.pem"


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenEndpoint:
    """An endpoint; the query of its URL may be secret. `name` is its name for errors, before its URL.

    Requests that may succeed later are repeated after `backoff_s`, which doubles each time up to `longest_backoff_s`.
    """

    url: str = field(repr=False)
    name: str = "the endpoint"
    http: HttpSettings = field(default_factory=HttpSettings)
    backoff_s: float = 0.1
    longest_backoff_s: float = 10.0

    @property
    def place(self) -> str:
        """The endpoint as errors name it."""
        return f"{self.name} {shown_url(self.url)}"


def endpoint_from(
    settings: Mapping[str, Setting], *, default_url: str = "", name: str = "the endpoint"
) -> TokenEndpoint:
    """Return the endpoint of the settings. Raises SettingsError for a URL that no secret may be sent to."""
    setting = settings.get(ENDPOINT)
    url = default_url if setting is None or not setting.value else setting.value
    if (problem := find_url_problem(url)) and setting is not None:
        msg = f"{setting.source}{_shown_value(url)} {problem}"
        raise SettingsError(msg)
    return TokenEndpoint(
        url=url,
        name=name,
        http=_http_settings(settings),
        backoff_s=seconds_of(settings, "sasl.login.retry.backoff.ms", 100),
        longest_backoff_s=seconds_of(settings, "sasl.login.retry.backoff.max.ms", 10_000),
    )


def shown_url(url: str) -> str:
    """Return a URL without its query and without a user and a password."""
    parts = urlsplit(url)
    return urlunsplit(SplitResult(parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _shown_value(url: str) -> str:
    try:
        return f"={shown_url(url)}" if url.isprintable() else ""
    except ValueError:
        return ""


def _http_settings(settings: Mapping[str, Setting]) -> HttpSettings:
    file, pem = text_of(settings, CA_FILE), text_of(settings, CA_PEM)
    if file and pem:
        msg = f"{settings[CA_FILE].source} and {settings[CA_PEM].source} exclude each other; remove one of them"
        raise SettingsError(msg)
    blocks = pem_blocks(pem)
    if pem and not has_block(blocks, CERTIFICATE):
        msg = f"{settings[CA_PEM].source} has no certificate; write the text of a PEM file"
        raise SettingsError(msg)
    return HttpSettings(
        # With "probe", librdkafka searches for the system's CAs.
        ca_file=None if file in {"", "probe"} else file,
        ca_pem="".join(block.text for block in blocks if block.label == CERTIFICATE) or None,
        connect_timeout_s=optional_seconds_of(settings, "sasl.login.connect.timeout.ms"),
        read_timeout_s=optional_seconds_of(settings, "sasl.login.read.timeout.ms"),
    )
