"""OAUTHBEARER on the client's side: the bytes of RFC 7628, and what a refusal says of the token."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_groups.admin.network.sasl.oauthbearer import OAuthBearerClient
from kafka_groups.settings.tokens.token import Token

NOW = 1_790_000_000.0
PLACE = "the token file /run/token"


def client(extensions: dict[str, str] | None = None, claims: dict[str, Any] | None = None) -> OAuthBearerClient:
    token = Token(text="eyJhbGciOi.x-_~+/.y==", **(claims or {}))
    return OAuthBearerClient(token, extensions or {}, place=PLACE, clock=lambda: NOW)


def refusal(challenge: bytes = b'{"status":"invalid_token"}', **claims: Any) -> str:
    refused = client(claims=claims)
    assert refused.evaluate_challenge(challenge) == b"\x01"
    text = refused.describe_refusal("Authentication failed")
    assert "eyJ" not in text
    return text


def test_the_first_message_has_the_token_and_the_extensions_in_their_order() -> None:
    assert client().first_message() == b"n,,\x01auth=Bearer eyJhbGciOi.x-_~+/.y==\x01\x01"
    cloud = {"logicalCluster": "lkc-1", "identityPoolId": "pool-2"}
    assert client(cloud).first_message() == (
        b"n,,\x01auth=Bearer eyJhbGciOi.x-_~+/.y==\x01logicalCluster=lkc-1\x01identityPoolId=pool-2\x01\x01"
    )


def test_an_empty_challenge_is_the_end_and_another_one_is_acknowledged() -> None:
    assert client().evaluate_challenge(b"") is None
    assert client().evaluate_challenge(b'{"status":"invalid_token"}') == b"\x01"


@pytest.mark.parametrize(
    ("claims", "cause"),
    [
        ({"expires_at": NOW - 60}, "it expired at 2026-09-21 14:12:20 UTC; get a new one"),
        (
            {"not_before": NOW + 60, "expires_at": NOW + 90},
            "it is not valid before 2026-09-21 14:14:20 UTC; check the clocks of both machines, or wait",
        ),
        (
            {"audience": "other", "issuer": "https://i", "subject": "me"},
            (
                "it has the subject 'me' and the audience 'other' and the issuer 'https://i'; "
                "check which ones the broker accepts: the log of the broker has the reason"
            ),
        ),
        ({"hint": "check the policy"}, "check the policy; the log of the broker has the reason"),
        ({}, "it is opaque to this tool; the log of the broker has the reason"),
    ],
    ids=["expired", "not yet valid", "claims", "hint", "opaque"],
)
def test_a_refusal_names_what_is_wrong_with_the_token(claims: dict[str, Any], cause: str) -> None:
    assert refusal(**claims) == f"the broker refused the token of {PLACE} (invalid_token): {cause}"


@pytest.mark.parametrize("challenge", [b"not json", b"[]", b'{"status":7}', b'{"status":"\\u001b[2J"}', b"[" * 9999])
def test_a_refusal_without_a_usable_status_has_the_text_of_the_broker(challenge: bytes) -> None:
    assert "(Authentication failed)" in refusal(challenge)


def test_a_claim_that_is_no_date_is_shown_as_a_number() -> None:
    assert "it expired at -9e+18 s after 1970" in refusal(expires_at=-9e18)


def test_a_long_claim_is_cut() -> None:
    text = refusal(subject="s" * 5000, audience="a" * 200, issuer="i" * 201)
    assert f"the subject '{'s' * 200}…' and the audience '{'a' * 200}' and the issuer '{'i' * 200}…'; check" in text
