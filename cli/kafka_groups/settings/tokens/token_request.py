"""Requests for tokens: repeated while that may help, and their responses, as Kafka's HttpJwtRetriever reads them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final
from urllib.parse import urljoin, urlsplit

from kafka_groups.errors import TokenFailedError
from kafka_groups.settings.limits import Limit
from kafka_groups.settings.tokens.http_client import HttpRequest, HttpResponse, send_request
from kafka_groups.settings.tokens.http_errors import HttpFailedError
from kafka_groups.settings.tokens.server_errors import describe_error, mask, parse_document, read_error
from kafka_groups.settings.tokens.token import Token, parse_token
from kafka_groups.settings.tokens.token_endpoint import TokenEndpoint
from kafka_groups.settings.tokens.token_settings import ENDPOINT

_ACCEPTED: Final = frozenset({200, 201})
_REDIRECTS: Final = range(300, 400)
# Statuses that a second request would have, too (UNRETRYABLE_HTTP_CODES of HttpJwtRetriever).
_FINAL: Final = frozenset({*range(200, 408), *range(409, 416), 501, 505})
# The requests end a little before the limit, so that their own error is reported.
_SHARE_OF_LIMIT: Final = 0.95
_LEAST_BACKOFF_S: Final = 0.001
# Some 30 years: a longer lifetime is no number of seconds.
_LONGEST_S: Final = 1_000_000_000
_NOT_FOUND: Final = frozenset({404, 405, 410})
_CLIENT: Final = "sasl.oauthbearer.client.credentials.client.id and .client.secret"
_STEPS: Final = {
    "invalid_client": f"check {_CLIENT}, or the assertion",
    "unauthorized_client": "let the identity provider allow this grant to the client",
    "invalid_scope": "check sasl.oauthbearer.scope",
    "invalid_grant": "check the assertion: its issuer, audience, expiry and key",
}
# Too many requests, and errors of the server.
_OVERLOADED: Final = frozenset({429, *range(500, 600)})
_TRY_LATER: Final = "try again later, or ask the identity provider"
_CHECK_URL: Final = f"check {ENDPOINT}"
_TOKEN_NAMES: Final = ("access_token", "id_token")


def request_document(
    request: HttpRequest, endpoint: TokenEndpoint, limit: Limit, secrets: Collection[str] = ()
) -> HttpResponse:
    """Return the response with status 200 or 201 to a request, which is repeated while that may help.

    Raises TokenFailedError, with the endpoint's own words but without `secrets`.
    """
    limit = Limit(limit.clock() + limit.remaining_s() * _SHARE_OF_LIMIT, limit.clock, limit.cancelled)
    backoff_s = endpoint.backoff_s
    attempts = 0
    problem: HttpFailedError | None = None
    while True:
        attempts += 1
        try:
            response = send_request(request, endpoint.http, limit)
            if response.status in _ACCEPTED:
                return response
            problem = _status_error(response, request.url, secrets)
        except HttpFailedError as error:
            # The last of several attempts may have had too little time to fail for the same reason.
            problem = problem if problem is not None and error.is_timeout else error
        if not problem.is_retriable or backoff_s >= limit.remaining_s():
            count = f" ({attempts} attempts)" if attempts > 1 else ""
            msg = f"{endpoint.place} {problem}{count}"
            raise TokenFailedError(msg) from None
        limit.cancelled.wait(backoff_s)
        backoff_s = min(max(backoff_s, _LEAST_BACKOFF_S) * 2, max(endpoint.longest_backoff_s, endpoint.backoff_s))


def read_token(response: HttpResponse, place: str, now: float, secrets: Collection[str] = ()) -> Token:
    """Return the token of a response; `now`, in seconds since 1970, is when its `expires_in` began.

    Raises TokenFailedError for a response without a token.
    """
    document = parse_document(response.body)
    if document is None:
        msg = (
            f"{place} returned status {response.status} and no JSON ({mask(response.content_type, ())}); "
            f"{_CHECK_URL}: it may be a page for people"
        )
        raise TokenFailedError(msg)
    text = next((text for name in _TOKEN_NAMES if isinstance(text := document.get(name), str) and text), None)
    if text is None:
        said = describe_error(response.body, secrets)
        msg = f"{place} returned neither access_token nor id_token{f': {said}' if said else ''}; {_CHECK_URL}"
        raise TokenFailedError(msg)
    lifetime_s = _lifetime(document.get("expires_in"))
    return parse_token(text, place=place, expires_at=None if lifetime_s is None else now + lifetime_s)


def _status_error(response: HttpResponse, url: str, secrets: Collection[str]) -> HttpFailedError:
    text = _explain_status(response, url, secrets)
    return HttpFailedError(text, is_retriable=response.status not in _FINAL)


def _explain_status(response: HttpResponse, url: str, secrets: Collection[str]) -> str:
    if response.status in _REDIRECTS and response.location:
        return _explain_redirect(response, url)
    code, _ = read_error(response.body)
    said = describe_error(response.body, secrets)
    step = _STEPS.get(code) or _step_of_status(response.status, has_text=bool(said))
    return f"returned status {response.status}{f': {said}' if said else ''}{f'; {step}' if step else ''}"


def _step_of_status(status: int, *, has_text: bool) -> str:
    if status in _OVERLOADED:
        return _TRY_LATER
    return _CHECK_URL if status in _NOT_FOUND or not has_text else ""


def _explain_redirect(response: HttpResponse, url: str) -> str:
    try:
        host = urlsplit(urljoin(url, response.location)).hostname or ""
    except ValueError:
        host = ""
    shown = mask(host, ()) or "another address"
    return f"redirects to {shown} (status {response.status}), and no secret is sent there; write the final URL"


def _lifetime(value: object) -> float | None:
    """Return the seconds of `expires_in`, which Azure writes as a text; None if the response does not have it."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= len("3600") * 3:
        value = int(value)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= _LONGEST_S:
        return None
    return float(value)
