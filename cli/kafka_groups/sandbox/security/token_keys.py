"""The key that signs the tokens of a sandbox, its public half for brokers (RFC 7517), and signed tokens (RFC 7519)."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from typing import Any, Final

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from kafka_groups.sandbox.security.users import AUDIENCE, ISSUER

LIFETIME_S: Final = 24 * 60 * 60
_KEY_ID: Final = "sandbox"
_BITS: Final = 2048
_EXPONENT: Final = 65537


def create_key() -> bytes:
    """Return a new private RSA key as PEM text."""
    key = rsa.generate_private_key(public_exponent=_EXPONENT, key_size=_BITS)
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def key_set(key_pem: bytes) -> str:
    """Return the JSON Web Key Set with the public half of a key, which validates its signatures."""
    numbers = _load(key_pem).public_key().public_numbers()
    key = {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": _KEY_ID, "n": _number(numbers.n), "e": _number(numbers.e)}
    return json.dumps({"keys": [key]}, indent=1)


def user_claims(user: str, *, now_s: float) -> dict[str, Any]:
    """Return the claims of a token that brokers accept for 24 hours; `now_s` is in seconds since 1970."""
    issued = int(now_s)
    return {"iss": ISSUER, "aud": AUDIENCE, "sub": user, "iat": issued, "exp": issued + LIFETIME_S}


def sign_token(key_pem: bytes, claims: Mapping[str, Any]) -> str:
    """Return a token with these claims, signed with RS256 (RFC 7518, section 3.3)."""
    header = {"alg": "RS256", "typ": "JWT", "kid": _KEY_ID}
    content = f"{_encode_json(header)}.{_encode_json(claims)}"
    signature = _load(key_pem).sign(content.encode(), padding.PKCS1v15(), hashes.SHA256())
    return f"{content}.{_encode(signature)}"


def _load(key_pem: bytes) -> rsa.RSAPrivateKey:
    key = serialization.load_pem_private_key(key_pem, password=None)
    assert isinstance(key, rsa.RSAPrivateKey)
    return key


def _number(value: int) -> str:
    return _encode(value.to_bytes((value.bit_length() + 7) // 8, "big"))


def _encode_json(part: Mapping[str, Any]) -> str:
    return _encode(json.dumps(part, separators=(",", ":")).encode())


def _encode(data: bytes) -> str:
    """Return base64url text without padding (RFC 7515, section 2)."""
    return urlsafe_b64encode(data).decode().rstrip("=")
