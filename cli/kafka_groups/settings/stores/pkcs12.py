"""PKCS #12 stores (RFC 7292), which keytool writes since Java 9, read by the package cryptography."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kafka_groups.errors import SettingsError
from kafka_groups.settings.stores.store import KeyPair, StoreError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
    from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12KeyAndCertificates
    from cryptography.x509 import Certificate

_NOT_INSTALLED: Final = "PKCS12 stores need the package cryptography; install it with: pip install 'kafka-groups[keys]'"
# Part of the text of cryptography's error.
_REFUSED: Final = "Invalid password"
_DAMAGED: Final = "it is damaged, or not complete; copy it again from its source"


@dataclass(frozen=True, kw_only=True, slots=True)
class Pkcs12Store:
    """The first private key of a store with its chain, if it has one, and all of its certificates (DER).

    Java trusts the certificates that keytool marked with an attribute; cryptography does not return attributes.
    """

    key: KeyPair | None
    certificates: tuple[bytes, ...]


def read_pkcs12(data: bytes, password: str | None) -> Pkcs12Store | None:
    """Return the content of a store; None for a wrong password.

    Raises StoreError for a file that is damaged, and SettingsError if cryptography is not installed.
    """
    store = _load(data, password)
    if store is None:
        return None
    certificates = [each.certificate for each in (store.cert, *store.additional_certs) if each is not None]
    key = None
    if store.key is not None and store.cert is not None:
        key = KeyPair(key=_key_der(store.key), chain=_chain(certificates))
    return Pkcs12Store(key=key, certificates=tuple(map(_certificate_der, certificates)))


def _load(data: bytes, password: str | None) -> PKCS12KeyAndCertificates | None:
    """Return a store as cryptography reads it; None for a wrong password."""
    try:
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12
    except ImportError as error:
        raise SettingsError(_NOT_INSTALLED) from error
    try:
        with warnings.catch_warnings():
            # Windows writes BER, which cryptography reads with a warning.
            warnings.simplefilter("ignore")
            return load_pkcs12(data, None if password is None else password.encode())
    except UnsupportedAlgorithm as error:
        msg = f"it has a cipher that cryptography does not support: {error.args[0]}; write it again by a newer keytool"
        raise StoreError(msg) from error
    except ValueError as error:
        if _REFUSED in str(error):
            return None
        raise StoreError(_DAMAGED) from error


def _chain(certificates: Sequence[Certificate]) -> tuple[bytes, ...]:
    """Return the first certificate and its issuers among the others, in order (DER).

    The file has the certificates of all of its keys, in any order.
    """
    chain = [certificates[0]]
    rest = list(dict.fromkeys(certificates[1:]))
    while issuer := next((each for each in rest if each not in chain and _is_issuer(each, chain[-1])), None):
        chain.append(issuer)
    return tuple(map(_certificate_der, chain))


def _is_issuer(issuer: Certificate, issued: Certificate) -> bool:
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm

    try:
        issued.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        return False
    return True


def _key_der(key: PrivateKeyTypes) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())


def _certificate_der(certificate: Certificate) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding

    return certificate.public_bytes(Encoding.DER)
