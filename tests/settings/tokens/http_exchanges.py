"""HTTP exchanges of the tests, and the errors of those that fail."""

from __future__ import annotations

import time

import pytest

from kafka_groups.settings.limits import Limit
from kafka_groups.settings.tokens.http_client import HttpRequest, HttpResponse, HttpSettings, send_request
from kafka_groups.settings.tokens.http_errors import HttpFailedError


def get(url: str, settings: HttpSettings | None = None, seconds: float = 10.0) -> HttpResponse:
    """Return the response to a request without a body."""
    return send_request(HttpRequest(method="GET", url=url), settings or HttpSettings(), Limit.after(seconds))


def failure(url: str, settings: HttpSettings | None = None, seconds: float = 10.0) -> HttpFailedError:
    """Return the error of a request, which ends before its limit."""
    started = time.monotonic()
    with pytest.raises(HttpFailedError) as caught:
        get(url, settings, seconds)
    assert time.monotonic() - started < seconds + 1.5
    return caught.value
