"""Signed JSON Web Tokens (RFC 7515, RFC 7518), by RS256 or ES256. Signing needs the extra `keys` (cryptography)."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

    SigningKey: TypeAlias = RSAPrivateKey | EllipticCurvePrivateKey

RS256: Final = "RS256"
ES256: Final = "ES256"
# The bytes of each of the two numbers of a signature by ES256 (RFC 7518, section 3.4).
_ES256_BYTES: Final = 32


class KeyUnusableError(Exception):
    """A private key that cannot be used. Its text says why, as the end of a sentence, without any part of the key."""


def encode_bytes(data: bytes) -> str:
    """Return bytes in base64url without padding, as all parts of a JWT are written."""
    return urlsafe_b64encode(data).decode().rstrip("=")


def encode_part(part: Mapping[str, Any]) -> str:
    """Return the header or the claims of a JWT as its text has them."""
    return encode_bytes(json.dumps(part, separators=(",", ":")).encode())


def load_key(pem: bytes, passphrase: str = "") -> SigningKey:
    """Return the private key of a PEM text; `passphrase` decrypts it, if it is encrypted.

    Raises KeyUnusableError for other text, a wrong or missing passphrase, and a key that signs neither RS256 nor ES256.
    """
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    is_encrypted = b"ENCRYPTED" in pem
    if is_encrypted and not passphrase:
        raise KeyUnusableError("is encrypted; set sasl.oauthbearer.assertion.private.key.passphrase")
    try:
        key = load_pem_private_key(pem, passphrase.encode() if is_encrypted else None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        # The library's texts may have parts of the input.
        problem = "cannot be decrypted; correct the passphrase" if is_encrypted else "is no private key in PEM"
        raise KeyUnusableError(problem) from None
    return _require_signing_key(key)


def sign_jwt(claims: Mapping[str, Any], key: SigningKey, *, header: Mapping[str, Any] | None = None) -> str:
    """Return a JWT with the claims, signed by the algorithm of the key; `header` has further fields, such as `kid`."""
    complete = {**(header or {}), "alg": algorithm_of(key), "typ": "JWT"}
    signed = f"{encode_part(complete)}.{encode_part(claims)}"
    return f"{signed}.{encode_bytes(_sign(signed.encode(), key))}"


def algorithm_of(key: SigningKey) -> str:
    """Return the algorithm that a key signs by: RS256 or ES256."""
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

    return RS256 if isinstance(key, RSAPrivateKey) else ES256


def _require_signing_key(key: object) -> SigningKey:
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

    if isinstance(key, RSAPrivateKey):
        return key
    if isinstance(key, EllipticCurvePrivateKey) and isinstance(key.curve, SECP256R1):
        return key
    raise KeyUnusableError("is neither an RSA key (RS256) nor an EC key of the curve P-256 (ES256)")


def _sign(data: bytes, key: SigningKey) -> bytes:
    from cryptography.hazmat.primitives.asymmetric.ec import ECDSA
    from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
    from cryptography.hazmat.primitives.hashes import SHA256

    if isinstance(key, RSAPrivateKey):
        return key.sign(data, PKCS1v15(), SHA256())
    numbers = decode_dss_signature(key.sign(data, ECDSA(SHA256())))
    return b"".join(number.to_bytes(_ES256_BYTES, "big") for number in numbers)
