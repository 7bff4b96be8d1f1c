"""The versions of TLS and the cipher suites that a client offers, by Java's names or by OpenSSL's."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from kafka_groups.errors import SettingsError
from kafka_groups.settings.pairs import Setting
from kafka_groups.settings.values import TLS_VERSIONS, hint_of_variable
from kafka_groups.suggestions import did_you_mean

CIPHER_SUITES: Final = "ssl.cipher.suites"
ENABLED_PROTOCOLS: Final = "ssl.enabled.protocols"
PROTOCOL: Final = "ssl.protocol"
# Kafka's clients enabled some of these by default before Kafka 2.6; OpenSSL 3 refuses them.
_OLD_VERSIONS: Final = frozenset({"SSLv2Hello", "SSLv3", "TLSv1", "TLSv1.1"})
# Java's names of a context, which stand for its newest version.
_NEWEST: Final = frozenset({"TLS", "SSL"})
# The suites of TLS 1.3 that OpenSSL offers by default. Python cannot select among them before version 3.15.
_TLS_1_3: Final = ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256")
# A signal that Java lists among its suites (RFC 5746); OpenSSL always sends it.
_SIGNAL: Final = "TLS_EMPTY_RENEGOTIATION_INFO_SCSV"
# Suites of TLS 1.2 by key exchange, as Java spells it, and what OpenSSL writes for it.
_KEY_EXCHANGES: Final = {
    "ECDHE_ECDSA": "ECDHE-ECDSA-",
    "ECDHE_RSA": "ECDHE-RSA-",
    "DHE_RSA": "DHE-RSA-",
    "DHE_DSS": "DHE-DSS-",
    "RSA": "",
}
_ENCRYPTIONS: Final = {
    "AES_128_GCM_SHA256": "AES128-GCM-SHA256",
    "AES_256_GCM_SHA384": "AES256-GCM-SHA384",
    "CHACHA20_POLY1305_SHA256": "CHACHA20-POLY1305",
    "AES_128_CBC_SHA": "AES128-SHA",
    "AES_256_CBC_SHA": "AES256-SHA",
    "AES_128_CBC_SHA256": "AES128-SHA256",
    "AES_256_CBC_SHA256": "AES256-SHA256",
    "AES_256_CBC_SHA384": "AES256-SHA384",
}
# Combinations that no standard defines.
_UNDEFINED: Final = re.compile(
    r"TLS_((RSA|DHE_DSS)_WITH_CHACHA20|ECDHE_(RSA|ECDSA)_WITH_AES_256_CBC_SHA256|(DHE_)?(RSA|DSS)_WITH_AES_256_CBC_SHA384)"
)
_OPENSSL_NAMES: Final = {
    name: prefix + openssl
    for exchange, prefix in _KEY_EXCHANGES.items()
    for suite, openssl in _ENCRYPTIONS.items()
    if not _UNDEFINED.match(name := f"TLS_{exchange}_WITH_{suite}")
}
_JAVA_PREFIXES: Final = ("TLS_", "SSL_")


class TlsNegotiation(NamedTuple):
    """What a client offers: the versions, the older one first, and OpenSSL's list of ciphers for TLS 1.2.

    Without ciphers, OpenSSL's default ones are offered.
    """

    versions: tuple[str, ...] = TLS_VERSIONS
    ciphers: str | None = None


def tls_negotiation(settings: Mapping[str, Setting]) -> TlsNegotiation:
    """Return what the settings allow. Raises SettingsError for unknown names, and if nothing is left to offer."""
    versions = _versions(settings.get(ENABLED_PROTOCOLS), settings.get(PROTOCOL))
    suites = settings.get(CIPHER_SUITES)
    if suites is None:
        return TlsNegotiation(versions)
    listed = [name for name in re.split(r"[:,\s]+", suites.value) if name]
    if not listed:
        # Separators alone are an empty list, which stands for the default.
        return TlsNegotiation(versions)
    names = [name for name in listed if name != _SIGNAL]
    if names and not any(name.startswith(_JAVA_PREFIXES) for name in names):
        # An expression of OpenSSL's, such as HIGH:!SHA, which OpenSSL checks. It concerns TLS 1.2 alone.
        _check_protection(suites)
        return TlsNegotiation(versions, suites.value)
    ciphers = [cipher for name in names if (cipher := _openssl_name(name, suites)) is not None]
    # As in Java, a version without a suite in the list is not offered.
    has_suites = {"TLSv1.2": bool(ciphers), "TLSv1.3": len(ciphers) < len(names)}
    offered = tuple(version for version in versions if has_suites[version])
    if not offered:
        msg = f"{suites.source} has no cipher suite for {' and '.join(versions)}; add one, or remove the property"
        raise SettingsError(msg)
    return TlsNegotiation(offered, ":".join(ciphers) if "TLSv1.2" in offered else None)


def restricted_versions(settings: Mapping[str, Setting]) -> Setting | None:
    """Return the setting that allows fewer versions than the default, if there is one."""
    if _versions(settings.get(ENABLED_PROTOCOLS), settings.get(PROTOCOL)) == TLS_VERSIONS:
        return None
    return settings.get(ENABLED_PROTOCOLS) or settings.get(PROTOCOL)


def _versions(enabled: Setting | None, newest: Setting | None) -> tuple[str, ...]:
    names = [_version(name, enabled) for name in re.split(r"[,\s]+", enabled.value) if name] if enabled else None
    versions = [version for version in TLS_VERSIONS if names is None or version in names]
    if newest is not None and newest.value not in _NEWEST:
        # Java's client uses no version above this one, whatever is enabled.
        last = _version(newest.value, newest)
        versions = [version for version in versions if version <= last]
    if not versions:
        source = " and ".join(setting.source for setting in (enabled, newest) if setting is not None)
        msg = f"{source} allow no version of TLS that OpenSSL 3 accepts; enable TLSv1.2 or TLSv1.3"
        raise SettingsError(msg)
    return tuple(versions)


def _version(name: str, setting: Setting | None) -> str:
    assert setting is not None
    known = {each.upper(): each for each in (*TLS_VERSIONS, *_OLD_VERSIONS)}
    if name.upper() not in known:
        hint = did_you_mean(name, TLS_VERSIONS) + hint_of_variable(setting.value)
        msg = f"{setting.source}: the TLS version {name} is unknown; write {' or '.join(TLS_VERSIONS)}{hint}"
        raise SettingsError(msg)
    return known[name.upper()]


def _check_protection(suites: Setting) -> None:
    """Raise SettingsError if a broker could be accepted without a certificate, or data be sent without encryption.

    OpenSSL offers such suites at the security level 0 alone. What it refuses otherwise is left to the client's error.
    """
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.set_ciphers(suites.value)
    except (ssl.SSLError, ValueError):
        return
    if context.security_level > 0:
        return
    unsafe = [cipher["name"] for cipher in context.get_ciphers() if not _is_protected(cipher)]
    if unsafe:
        msg = (
            f"{suites.source} has cipher suites without authentication or without encryption ({unsafe[0]}); "
            "append :!aNULL:!eNULL, or remove @SECLEVEL=0"
        )
        raise SettingsError(msg)


def _is_protected(cipher: Mapping[str, Any]) -> bool:
    return bool(cipher["auth"] != "auth-null" and cipher["strength_bits"] > 0)


def _openssl_name(name: str, source: Setting) -> str | None:
    """Return OpenSSL's name of a suite of TLS 1.2; None for a suite of TLS 1.3."""
    # Java's older names begin with SSL_.
    plain = re.sub(r"^SSL_", "TLS_", name)
    if plain in _TLS_1_3:
        return None
    if name in _OPENSSL_NAMES.values():
        return name
    if plain not in _OPENSSL_NAMES:
        hint = did_you_mean(name, [*_OPENSSL_NAMES, *_TLS_1_3])
        msg = f"{source.source}: the cipher suite {name} is unknown, or this tool cannot offer it; remove it{hint}"
        raise SettingsError(msg + hint_of_variable(source.value))
    return _OPENSSL_NAMES[plain]
