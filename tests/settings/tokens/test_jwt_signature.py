"""Signatures of JWTs, which another library verifies, and keys that cannot sign."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, utils
from cryptography.hazmat.primitives.hashes import SHA256

from kafka_groups.settings.tokens.jwt_signature import KeyUnusableError, algorithm_of, load_key, sign_jwt
from tests.fakes.jwt_tokens import make_jwks, make_key, sign_token, to_pem

CLAIMS = {"sub": "me", "aud": ["kafka", "other"]}


def decode(part: str) -> bytes:
    """Return the bytes of a part of a JWT."""
    return urlsafe_b64decode(part + "=" * (-len(part) % 4))


def read(token: str) -> tuple[dict[str, Any], dict[str, Any], bytes, bytes]:
    """Return the header, the claims, the signed bytes and the signature of a JWT."""
    header, claims, signature = token.split(".")
    signed = f"{header}.{claims}".encode()
    return json.loads(decode(header)), json.loads(decode(claims)), signed, decode(signature)


def test_rs256_signs_with_pkcs_1_and_sha_256() -> None:
    key = make_key()
    header, claims, signed, signature = read(sign_token(key, CLAIMS))
    assert header == {"alg": "RS256", "typ": "JWT", "kid": "test-key"}
    assert claims == CLAIMS
    key.public_key().verify(signature, signed, padding.PKCS1v15(), SHA256())


def test_es256_has_the_two_numbers_of_a_signature_in_64_bytes() -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    header, claims, signed, signature = read(sign_jwt(CLAIMS, key))
    assert (header, claims, len(signature)) == ({"alg": "ES256", "typ": "JWT"}, CLAIMS, 64)
    numbers = (int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big"))
    key.public_key().verify(utils.encode_dss_signature(*numbers), signed, ec.ECDSA(SHA256()))


def test_a_jwks_has_the_public_numbers_of_the_key() -> None:
    entry = json.loads(make_jwks(make_key()))["keys"][0]
    numbers = make_key().public_key().public_numbers()
    assert (entry["kty"], entry["kid"]) == ("RSA", "test-key")
    assert int.from_bytes(decode(entry["n"]), "big") == numbers.n
    assert int.from_bytes(decode(entry["e"]), "big") == numbers.e


def test_a_key_is_loaded_with_its_passphrase_or_without_one() -> None:
    for passphrase in ("", "hidden-thing"):
        pem = to_pem(make_key(), passphrase=passphrase)
        loaded = load_key(pem, "hidden-thing")
        assert algorithm_of(loaded) == "RS256"
        assert to_pem(loaded) == to_pem(make_key())


@pytest.mark.parametrize(
    ("pem", "passphrase", "problem"),
    [
        (to_pem(make_key(), passphrase="hidden-thing"), "", "is encrypted; set sasl.oauthbearer.assertion.private"),
        (to_pem(make_key(), passphrase="hidden-thing"), "wrong", "cannot be decrypted; correct the passphrase"),
        (b"hidden-thing", "", "is no private key in PEM"),
        (b"-----BEGIN PRIVATE KEY-----\nhidden-thing\n-----END PRIVATE KEY-----\n", "", "is no private key in PEM"),
        (to_pem(ec.generate_private_key(ec.SECP384R1())), "", "is neither an RSA key (RS256) nor an EC key"),
        (
            to_pem(ed25519.Ed25519PrivateKey.generate()),  # type: ignore[arg-type] # Any key has this method.
            "",
            "is neither an RSA key (RS256) nor an EC key",
        ),
    ],
)
def test_an_error_of_a_key_has_the_reason_and_no_part_of_it(pem: bytes, passphrase: str, problem: str) -> None:
    with pytest.raises(KeyUnusableError) as caught:
        load_key(pem, passphrase)
    assert str(caught.value).startswith(problem)
    assert "hidden-thing" not in repr(caught.value)
