"""Keys and tokens of an identity provider, for scripted endpoints and for real brokers.

A broker reads the keys from a file: `sasl.oauthbearer.jwks.endpoint.url=file:///…` with the text of `make_jwks`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
)

from kafka_groups.settings.tokens.jwt_signature import encode_bytes, sign_jwt

if TYPE_CHECKING:
    from kafka_groups.settings.tokens.jwt_signature import SigningKey

KEY_ID = "test-key"


@cache
def make_key(number: int = 0) -> RSAPrivateKey:
    """Return an RSA key, for each number the same one in a process: a new one takes some 50 ms."""
    del number
    return generate_private_key(public_exponent=65_537, key_size=2048)


def make_jwks(key: RSAPrivateKey, *, key_id: str = KEY_ID) -> str:
    """Return the text of a JWKS file (RFC 7517) with the public part of a key."""
    numbers = key.public_key().public_numbers()
    entry = {
        "kty": "RSA",
        "use": "sig",
        "alg": "RS256",
        "kid": key_id,
        "n": _encode_number(numbers.n),
        "e": _encode_number(numbers.e),
    }
    return json.dumps({"keys": [entry]})


def sign_token(key: SigningKey, claims: Mapping[str, Any], *, key_id: str = KEY_ID) -> str:
    """Return a JWT that is signed by a key of `make_jwks`; its claims are complete, see `make_claims`."""
    return sign_jwt(claims, key, header={"kid": key_id})


def make_claims(subject: str, *, lifetime_s: float = 3600, now: float | None = None, **others: Any) -> dict[str, Any]:
    """Return the claims that a broker needs: sub, iat and exp, and `others`, such as iss, aud, nbf or scope."""
    issued = time.time() if now is None else now
    return {"sub": subject, "iat": int(issued), "exp": int(issued + lifetime_s), **others}


def to_pem(key: SigningKey, *, passphrase: str = "") -> bytes:
    """Return a private key as a PEM text in PKCS #8, encrypted if there is a passphrase."""
    encryption: KeySerializationEncryption = NoEncryption()
    if passphrase:
        encryption = BestAvailableEncryption(passphrase.encode())
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)


def _encode_number(number: int) -> str:
    return encode_bytes(number.to_bytes((number.bit_length() + 7) // 8, "big"))
