"""What key stores hold, whatever their format, and why one cannot be read."""

from __future__ import annotations

from dataclasses import dataclass, field

from kafka_groups.settings.pem import CERTIFICATE, PRIVATE_KEY, pem_text


class StoreError(Exception):
    """Why a store cannot be read, and the next step, without the name of its file and without secrets."""


@dataclass(frozen=True, kw_only=True, slots=True)
class KeyPair:
    """A private key (DER of PKCS #8, RFC 5208), and its chain of certificates (DER); that of the key is the first."""

    key: bytes = field(repr=False)
    chain: tuple[bytes, ...]

    def certificate_pem(self) -> str:
        """Return the chain as PEM text."""
        return certificates_pem(self.chain)

    def key_pem(self) -> str:
        """Return the private key as PEM text, which is not encrypted."""
        return pem_text(PRIVATE_KEY, self.key)


def certificates_pem(certificates: tuple[bytes, ...]) -> str:
    """Return certificates (DER) as PEM text."""
    return "".join(pem_text(CERTIFICATE, each) for each in dict.fromkeys(certificates))
