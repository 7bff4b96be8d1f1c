"""The settings of TLS: certificates and keys, as PEM files or as PEM text, versions and cipher suites."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from kafka_groups.errors import SettingsError
from kafka_groups.settings.pairs import Setting
from kafka_groups.settings.pem import CERTIFICATE, PRIVATE_KEY, has_block, pem_blocks
from kafka_groups.settings.values import TLS_VERSIONS

CA_FILE: Final = "ssl.truststore.location"
CA_PEM: Final = "ssl.truststore.certificates"
CERTIFICATE_FILE: Final = "ssl.keystore.location"
CERTIFICATE_PEM: Final = "ssl.keystore.certificate.chain"
KEY_FILE: Final = "ssl.key.location"
KEY_PEM: Final = "ssl.keystore.key"


@dataclass(frozen=True, kw_only=True, slots=True)
class Tls:
    """The certificates, keys and checks of TLS connections, each as a PEM file or as PEM text.

    Without `ca_file` and `ca_pem` the system's CAs are trusted; `ca_file` may be a directory that c_rehash prepared.
    Without a key, the certificate's file or text has it. With `crl_file`, the broker's own certificate must have
    a certificate revocation list (CRL) of its issuer in that file, and must not be in it.
    `versions` are offered, the older one first. `ciphers` is OpenSSL's list for TLS 1.2, by default OpenSSL's own.
    """

    ca_file: str | None = None
    ca_pem: str | None = field(default=None, repr=False)
    certificate_file: str | None = None
    certificate_pem: str | None = field(default=None, repr=False)
    key_file: str | None = None
    key_pem: str | None = field(default=None, repr=False)
    key_password: str | None = field(default=None, repr=False)
    crl_file: str | None = None
    versions: tuple[str, ...] = TLS_VERSIONS
    ciphers: str | None = None
    check_host_name: bool = True


def tls_settings(settings: Mapping[str, Setting]) -> Tls:
    """Return the settings of TLS. Raises SettingsError for those that cannot be used or that contradict each other."""
    # Imported here, as many commands use no TLS.
    from kafka_groups.settings.tls_negotiation import tls_negotiation

    pem = pem_texts(settings)
    values = {key: setting.value for key, setting in settings.items()}
    ca_file = values.get(CA_FILE)
    negotiation = tls_negotiation(settings)
    return Tls(
        # With "probe", librdkafka searches for the system's CAs.
        ca_file=None if ca_file in {"", "probe"} else ca_file,
        ca_pem=pem.get(CA_PEM),
        certificate_file=values.get(CERTIFICATE_FILE) or None,
        certificate_pem=pem.get(CERTIFICATE_PEM),
        key_file=values.get(KEY_FILE) or None,
        key_pem=pem.get(KEY_PEM),
        key_password=values.get("ssl.key.password"),
        crl_file=values.get("ssl.crl.location") or None,
        versions=negotiation.versions,
        ciphers=negotiation.ciphers,
        check_host_name=values.get("ssl.endpoint.identification.algorithm", "https").lower() not in {"", "none"},
    )


def pem_texts(settings: Mapping[str, Setting]) -> dict[str, str]:
    """Return the PEM texts among the settings by name, as OpenSSL reads them.

    Raises SettingsError for a text without the block that it must have, for one that is given as a file, too, and for
    a certificate or a key without the other.
    """
    texts = {}
    for key, file, kind in (
        (CA_PEM, CA_FILE, CERTIFICATE),
        (CERTIFICATE_PEM, CERTIFICATE_FILE, CERTIFICATE),
        (KEY_PEM, KEY_FILE, PRIVATE_KEY),
    ):
        setting = settings.get(key)
        if setting is not None and setting.value:
            texts[key] = _pem_text(setting, kind, settings.get(file))
    _check_pair(settings, texts)
    return texts


def _pem_text(setting: Setting, kind: str, file: Setting | None) -> str:
    blocks = pem_blocks(setting.value)
    if not has_block(blocks, kind):
        msg = (
            f"{setting.source} has no {kind.lower()}; "
            f"write the text of a PEM file, which has a line -----BEGIN {kind}-----"
        )
        raise SettingsError(msg)
    if file is not None and file.value:
        msg = f"{setting.source} and {file.source} exclude each other; remove one of them"
        raise SettingsError(msg)
    return "".join(block.text for block in blocks)


def _check_pair(settings: Mapping[str, Setting], texts: Mapping[str, str]) -> None:
    """Raise SettingsError for a key without a certificate, and for the text of a certificate without a key."""
    certificate = next((settings[key] for key in (CERTIFICATE_PEM, CERTIFICATE_FILE) if _is_set(settings, key)), None)
    key = next((settings[key] for key in (KEY_PEM, KEY_FILE) if _is_set(settings, key)), None)
    if key is not None and certificate is None:
        name = "ssl.certificate.location"
        msg = f"{key.source} needs the certificate that belongs to the key; set {name}"
        raise SettingsError(msg)
    if CERTIFICATE_PEM in texts and key is None and not has_block(pem_blocks(texts[CERTIFICATE_PEM]), PRIVATE_KEY):
        msg = f"{settings[CERTIFICATE_PEM].source} needs the private key of the certificate; set {KEY_PEM}"
        raise SettingsError(msg)


def _is_set(settings: Mapping[str, Setting], key: str) -> bool:
    return bool(key in settings and settings[key].value)
