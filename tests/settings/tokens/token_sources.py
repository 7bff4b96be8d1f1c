"""Sources of tokens by the properties of a user, and what their errors say."""

from __future__ import annotations

import time
from dataclasses import fields, is_dataclass
from typing import Any

import pytest

from kafka_groups.errors import SettingsError, TokenFailedError
from kafka_groups.settings import TokenCredentials, settings_from
from kafka_groups.settings.limits import Limit
from kafka_groups.settings.tokens.token import Token, TokenSource

SECRET = "hidden-thing"
CLIENT_ID = "sasl.oauthbearer.client.id"
CLIENT_SECRET = "sasl.oauthbearer.client.secret"
ENDPOINT = "sasl.oauthbearer.token.endpoint.url"
CLIENT = {CLIENT_ID: "my-client", CLIENT_SECRET: SECRET}
# Backoffs of tests, in milliseconds.
QUICK = {"sasl.login.retry.backoff.ms": "1", "sasl.login.retry.backoff.max.ms": "2"}


def credentials_of(properties: dict[str, str]) -> TokenCredentials:
    """Return the credentials that properties give."""
    frame = {"bootstrap.servers": "b:1", "security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"}
    credentials = settings_from({**frame, **properties}).credentials
    assert isinstance(credentials, TokenCredentials)
    return credentials


def source_of(properties: dict[str, str]) -> TokenSource:
    """Return the source of tokens that properties name."""
    return credentials_of(properties).source


def client_source(url: str, **properties: str) -> TokenSource:
    """Return the source of a client with a secret; underscores in names stand for dots."""
    others = {name.replace("_", "."): value for name, value in properties.items()}
    return source_of({ENDPOINT: url, **CLIENT, **QUICK, **others})


def fetch(source: TokenSource, seconds: float = 10.0) -> Token:
    """Return a token of a source."""
    return source.fetch(Limit.after(seconds))


def failure_of(source: TokenSource, seconds: float = 10.0) -> str:
    """Return the text of the error of a fetch that fails before its limit; no part of the error has a secret."""
    started = time.monotonic()
    with pytest.raises(TokenFailedError) as caught:
        source.fetch(Limit.after(seconds))
    assert time.monotonic() - started < seconds + 1
    assert caught.value.__cause__ is None
    text = str(caught.value)
    assert SECRET not in repr(caught.value)
    assert "\n" not in text
    return text


def settings_error(properties: dict[str, str]) -> str:
    """Return the text of the error of properties that cannot be used; it never has the secret."""
    with pytest.raises(SettingsError) as caught:
        source_of(properties)
    assert SECRET not in repr(caught.value)
    return str(caught.value)


def reprs(root: Any) -> str:
    """Return the reprs of an object and of all data that it holds."""
    parts = [getattr(root, each.name) for each in fields(root)] if is_dataclass(root) else []
    return "\n".join([repr(root), *(reprs(part) for part in parts if is_dataclass(part))])
