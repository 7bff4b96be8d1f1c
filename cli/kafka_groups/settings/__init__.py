"""Connection settings: where they come from and which one wins.

Flags beat the environment, which beats the profile, which beats the config file. Every source is
flattened to dotted property names as Java's and librdkafka's clients spell them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Unpack

from kafka_groups.errors import SettingsError
from kafka_groups.settings.properties import Setting, parse_properties, profiles_file
from kafka_groups.settings.sasl import SaslCredentials, check_login_is_wanted, login_of
from kafka_groups.settings.sources import DEFAULT_TIMEOUT_S, Merged, Sources, merge_sources
from kafka_groups.settings.values import LONGEST_S, PROTOCOLS, Endpoint, parse_bootstrap, parse_duration

__all__ = [
    "ConnectionSettings",
    "Endpoint",
    "SaslCredentials",
    "Tls",
    "parse_bootstrap",
    "parse_duration",
    "profiles_file",
    "resolve_settings",
]

# A text's length stands in 16 bits of every request.
_LONGEST_CLIENT_ID = 32_767


@dataclass(frozen=True, kw_only=True, slots=True)
class Tls:
    """How the broker's certificate is checked, and ours shown. All files are PEM; None is the system's trust store."""

    ca_file: str | None = None
    certificate_file: str | None = None
    key_file: str | None = None
    key_password: str | None = field(default=None, repr=False)
    check_host_name: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class ConnectionSettings:
    """All that the admin layer needs to reach a cluster. `timeout_s` is one deadline for all that a command asks."""

    bootstrap: tuple[Endpoint, ...]
    timeout_s: float = DEFAULT_TIMEOUT_S
    client_id: str = "kafka-groups"
    connect_timeout_s: float = 10.0
    tls: Tls | None = None
    login: SaslCredentials | None = None


def resolve_settings(**sources: Unpack[Sources]) -> ConnectionSettings:
    """Merge all sources into what the admin layer needs. SettingsError names the source of what cannot be used."""
    typed = parse_properties(sources.get("properties", ()))
    return _build(merge_sources(typed, sources), typed)


def _build(merged: Merged, typed: Mapping[str, Setting]) -> ConnectionSettings:
    servers = merged.bootstrap()
    settings = merged.settings
    protocol = _protocol(settings.get("security.protocol"))
    check_login_is_wanted(typed, protocol.value)
    try:
        endpoints = parse_bootstrap(servers.value, protocol=protocol.value)
    except SettingsError as error:
        msg = f"{servers.where}: {error}"
        raise SettingsError(msg) from None
    return ConnectionSettings(
        bootstrap=endpoints,
        timeout_s=merged.timeout_s(),
        client_id=_client_id(settings.get("client.id")),
        connect_timeout_s=_milliseconds(settings.get("socket.connection.setup.timeout.ms"), 10_000) / 1000,
        tls=_tls(settings) if protocol.value.endswith("SSL") else None,
        login=login_of(settings, protocol) if protocol.value.startswith("SASL_") else None,
    )


def _client_id(setting: Setting | None) -> str:
    if setting is None:
        return "kafka-groups"
    try:
        size = len(setting.value.encode())
    except UnicodeEncodeError:
        msg = f"{setting.where}: a client id is text in UTF-8"
        raise SettingsError(msg) from None
    if not 0 < size <= _LONGEST_CLIENT_ID:
        msg = f"{setting.where}: a client id has 1 to {_LONGEST_CLIENT_ID} bytes, and this one has {size}"
        raise SettingsError(msg)
    return setting.value


def _milliseconds(setting: Setting | None, default: int) -> int:
    if setting is None:
        return default
    text, where = setting
    if not text.isdecimal() or not text.strip("0"):
        msg = f"{where}={text}: write a number of milliseconds"
        raise SettingsError(msg)
    # So many digits are too many, and reading them all would take long.
    if len(text.lstrip("0")) > len("31536000000") or int(text) / 1000 > LONGEST_S:
        msg = f"{where}: that is too long; 365 days ({LONGEST_S * 1000:.0f}) is the longest"
        raise SettingsError(msg)
    return int(text)


def _protocol(setting: Setting | None) -> Setting:
    if setting is None:
        return Setting(PROTOCOLS[0], "")
    protocol = setting.value.upper()
    if protocol not in PROTOCOLS:
        msg = f"{setting.where}={protocol} is unknown; write {', '.join(PROTOCOLS[:-1])} or {PROTOCOLS[-1]}"
        raise SettingsError(msg)
    return setting._replace(value=protocol)


def _tls(merged: Mapping[str, Setting]) -> Tls:
    values = {key: setting.value for key, setting in merged.items()}
    for key in ("ssl.truststore.type", "ssl.keystore.type"):
        if values.get(key, "PEM").upper() != "PEM":
            told = f"{merged[key].where}={values[key]}"
            msg = f"{told} is not supported yet; give PEM files (ssl.ca.location, ssl.certificate.location)"
            raise SettingsError(msg)
    if values.get("ssl.key.location") and not values.get("ssl.keystore.location"):
        where = merged["ssl.key.location"].where
        msg = f"{where} needs the certificate that goes with it: set ssl.certificate.location"
        raise SettingsError(msg)
    return Tls(
        ca_file=values.get("ssl.truststore.location"),
        certificate_file=values.get("ssl.keystore.location"),
        key_file=values.get("ssl.key.location"),
        key_password=values.get("ssl.key.password"),
        check_host_name=values.get("ssl.endpoint.identification.algorithm", "https").lower() not in {"", "none"},
    )
