"""Signed tokens, verified with the key set that brokers read."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from kafka_groups.sandbox.security.token_keys import create_key, key_set, sign_token, user_claims


@pytest.fixture(scope="module")
def key() -> bytes:
    return create_key()


def _decode(part: str) -> bytes:
    return urlsafe_b64decode(part + "=" * (-len(part) % 4))


def _verify(token: str, keys: str) -> None:
    (public,) = json.loads(keys)["keys"]
    modulus, exponent = (int.from_bytes(_decode(public[name]), "big") for name in ("n", "e"))
    header, claims, signature = token.split(".")
    assert json.loads(_decode(header)) == {"alg": public["alg"], "typ": "JWT", "kid": public["kid"]}
    rsa.RSAPublicNumbers(exponent, modulus).public_key().verify(
        _decode(signature), f"{header}.{claims}".encode(), padding.PKCS1v15(), hashes.SHA256()
    )


def test_a_token_is_verified_with_the_key_set(key: bytes) -> None:
    _verify(sign_token(key, {"sub": "admin"}), key_set(key))


def test_a_token_that_another_key_signed_is_not_verified(key: bytes) -> None:
    with pytest.raises(InvalidSignature):
        _verify(sign_token(create_key(), {"sub": "admin"}), key_set(key))


def test_the_key_set_has_no_private_number(key: bytes) -> None:
    (public,) = json.loads(key_set(key))["keys"]
    assert set(public) == {"kty", "use", "alg", "kid", "n", "e"}


def test_a_token_is_valid_for_24_hours_from_now_on() -> None:
    assert user_claims("admin", now_s=1_000_000.7) == {
        "iss": "https://sandbox.invalid",
        "aud": "kafka-groups-sandbox",
        "sub": "admin",
        "iat": 1_000_000,
        "exp": 1_086_400,
    }
