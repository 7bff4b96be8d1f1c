"""The settings of librdkafka's clients, as its properties, from the same sources as those of the network layer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias, Unpack

from kafka_groups.errors import SettingsError
from kafka_groups.settings.connection import ConnectionSettings, security_protocol
from kafka_groups.settings.librdkafka_sasl import check_sasl, refuse_setting, sasl_properties, ticket_cache_properties
from kafka_groups.settings.pairs import Setting, parse_pairs, require_effect
from kafka_groups.settings.properties import (
    CONVERTED_KEYS,
    IAM_HANDLERS,
    LOGIN_HANDLER,
    PASSED_KEYS,
    RESERVED_KEYS,
    TOKEN_KEYS,
    is_provider_key,
)
from kafka_groups.settings.sasl import AWS_MSK_IAM, OAUTHBEARER
from kafka_groups.settings.secrets import use_secrets
from kafka_groups.settings.sources import DEFAULT_TIMEOUT_S, Sources, merge_sources, parse_servers
from kafka_groups.settings.stores.replacement import replace_stores
from kafka_groups.settings.tls import (
    CA_FILE,
    CA_PEM,
    CERTIFICATE_FILE,
    CERTIFICATE_PEM,
    KEY_PEM,
    Tls,
    pem_texts,
)
from kafka_groups.settings.tls_negotiation import restricted_versions, tls_negotiation
from kafka_groups.settings.values import CANONICAL_NAMES, is_utf8

# Texts by librdkafka's names, secrets among them; `admin/librdkafka.py` makes clients of them. The properties that say
# where tokens come from have this tool's canonical names.
ClientProperties: TypeAlias = Mapping[str, str]

_PEM_NAMES: Final = {CA_PEM: "ssl.ca.pem", CERTIFICATE_PEM: "ssl.certificate.pem", KEY_PEM: "ssl.key.pem"}
_LONGEST_MS: Final = 2**31 - 1
_LONGEST_BACKOFF_MS: Final = 3_600_000
# The smallest and the largest number that librdkafka accepts. Its 0 is Java's -1: idle connections are not closed.
_LIMITS: Final = {
    "connections.max.idle.ms": (0, _LONGEST_MS),
    "reconnect.backoff.max.ms": (0, _LONGEST_BACKOFF_MS),
    "reconnect.backoff.ms": (0, _LONGEST_BACKOFF_MS),
    "socket.connection.setup.timeout.ms": (1000, _LONGEST_MS),
}
_DNS_LOOKUPS: Final = frozenset({"use_all_dns_ips", CANONICAL_NAMES})
_DEFAULT_MAX_BACKOFF_MS: Final = 10_000


@dataclass(frozen=True, kw_only=True, slots=True)
class ClientSettings:
    """The properties of a librdkafka client. They hold secrets, so the repr does not show them.

    `warnings` are sentences about secrets that other users can read; the caller prints them.
    """

    properties: ClientProperties = field(repr=False)
    timeout_s: float = DEFAULT_TIMEOUT_S
    warnings: tuple[str, ...] = field(default=(), compare=False)


def resolve_client(**sources: Unpack[Sources]) -> ClientSettings:
    """Merge all sources, as `resolve_settings` does, into the settings of librdkafka.

    Java's names become librdkafka's. A file's properties that do not concern the connection are skipped. -X passes
    every property on, and librdkafka checks it. Raises SettingsError for a setting that cannot be used; the error
    names the source of the setting.
    """
    flag_settings = parse_pairs(sources.get("properties", ()))
    merged = merge_sources(flag_settings, sources)
    servers = merged.bootstrap()
    _check_reserved(flag_settings)
    protocol = security_protocol(merged.settings.get("security.protocol")).value
    used_keys = PASSED_KEYS | TOKEN_KEYS | CONVERTED_KEYS | flag_settings.keys()
    merged, warnings = use_secrets(merged, used_keys, protocol)
    settings = replace_stores(merged.settings) if protocol.endswith("SSL") else merged.settings
    properties = {
        key: setting.value
        for key, setting in settings.items()
        if key in PASSED_KEYS | TOKEN_KEYS
        or (key in flag_settings and key not in CONVERTED_KEYS and not is_provider_key(key))
    }
    _check_texts(settings, properties)
    properties["bootstrap.servers"] = ",".join(map(str, parse_servers(servers, protocol)))
    properties.setdefault("client.id", "kafka-groups")
    if "security.protocol" in properties:
        properties["security.protocol"] = protocol.lower()
    if "sasl.mechanism" in properties:
        properties["sasl.mechanism"] = properties["sasl.mechanism"].upper()
    if properties.get("sasl.mechanism") == AWS_MSK_IAM:
        properties |= {"sasl.mechanism": OAUTHBEARER, LOGIN_HANDLER: IAM_HANDLERS[0]}
    _convert_values(properties, kept=flag_settings)
    if protocol.endswith("SSL"):
        _check_versions(flag_settings)
        properties |= _convert_pem(settings)
        if ciphers := tls_negotiation(settings).ciphers:
            properties["ssl.cipher.suites"] = ciphers
    _convert_tls(settings, properties)
    require_effect(flag_settings, protocol)
    if protocol.startswith("SASL_"):
        check_sasl(merged.settings)
        properties |= ticket_cache_properties(merged.settings)
    return ClientSettings(properties=properties, timeout_s=merged.timeout_s(), warnings=warnings)


def client_properties(settings: ConnectionSettings) -> dict[str, str]:
    """Return the properties of librdkafka for the settings of the network layer: the same cluster, TLS and user.

    Raises SettingsError for credentials that librdkafka does not support.
    """
    least_ms, most_ms = _LIMITS["socket.connection.setup.timeout.ms"]
    connect_timeout_ms = round(settings.connect_timeout_s * 1000)
    protocol = ("sasl_" if settings.credentials else "") + ("ssl" if settings.tls else "plaintext")
    properties = {
        "bootstrap.servers": ",".join(map(str, settings.bootstrap)),
        "client.id": settings.client_id,
        "socket.connection.setup.timeout.ms": str(min(max(connect_timeout_ms, least_ms), most_ms)),
        "security.protocol": protocol,
    }
    if settings.resolve_canonical_names:
        properties["client.dns.lookup"] = CANONICAL_NAMES
    if settings.tls is not None:
        properties |= _tls_properties(settings.tls)
    if settings.credentials is not None:
        properties |= sasl_properties(settings.credentials)
    return properties


def _tls_properties(tls: Tls) -> dict[str, str]:
    # Without a key, the certificate's file or text has it.
    has_key = tls.key_file is not None or tls.key_pem is not None
    properties = {
        "ssl.ca.location": tls.ca_file,
        "ssl.ca.pem": tls.ca_pem,
        "ssl.certificate.location": tls.certificate_file,
        "ssl.certificate.pem": tls.certificate_pem,
        "ssl.key.location": tls.key_file if has_key else tls.certificate_file,
        "ssl.key.pem": tls.key_pem if has_key else tls.certificate_pem,
        "ssl.key.password": tls.key_password,
        "ssl.crl.location": tls.crl_file,
        "ssl.cipher.suites": tls.ciphers,
        "ssl.endpoint.identification.algorithm": "https" if tls.check_host_name else "none",
    }
    return {key: value for key, value in properties.items() if value is not None}


def _check_reserved(flag_settings: Mapping[str, Setting]) -> None:
    reserved = next((setting for key, setting in flag_settings.items() if key in RESERVED_KEYS), None)
    if reserved is not None:
        msg = f"{reserved.source} cannot be set: the pipeline reads without a group and commits nothing; remove it"
        raise SettingsError(msg)


def _check_texts(settings: Mapping[str, Setting], properties: Mapping[str, str]) -> None:
    """Raise SettingsError for a value that librdkafka would cut or cannot take."""
    for key, value in properties.items():
        if "\0" in value or not is_utf8(value):
            msg = f"{settings[key].source} has a NUL character, or is not valid UTF-8; write it in UTF-8"
            raise SettingsError(msg)


def _check_versions(flag_settings: Mapping[str, Setting]) -> None:
    """Raise SettingsError for a flag without an effect: librdkafka has no property for the versions of TLS."""
    restricted = restricted_versions(flag_settings)
    if restricted is not None:
        refuse_setting(restricted, "negotiates TLSv1.2 and TLSv1.3, and has no property for that; remove it")


def _convert_pem(settings: Mapping[str, Setting]) -> dict[str, str]:
    """Return PEM texts by librdkafka's names. The text of a certificate may have the key, too."""
    texts = pem_texts(settings)
    properties = {name: texts[key] for key, name in _PEM_NAMES.items() if key in texts}
    if CERTIFICATE_PEM in texts and KEY_PEM not in texts and "ssl.key.location" not in settings:
        properties["ssl.key.pem"] = texts[CERTIFICATE_PEM]
    return properties


def _convert_tls(settings: Mapping[str, Setting], properties: dict[str, str]) -> None:
    """Rename Java's properties of PEM files to librdkafka's."""
    if ca_file := properties.pop(CA_FILE, None):
        properties["ssl.ca.location"] = ca_file
    if certificate := properties.pop(CERTIFICATE_FILE, None):
        properties["ssl.certificate.location"] = certificate
        # A PEM key store of Java's holds both the certificate and the key.
        if KEY_PEM not in settings:
            properties.setdefault("ssl.key.location", certificate)
    if "ssl.endpoint.identification.algorithm" in properties:
        algorithm = properties["ssl.endpoint.identification.algorithm"].lower()
        properties["ssl.endpoint.identification.algorithm"] = algorithm or "none"


def _convert_values(properties: dict[str, str], *, kept: Mapping[str, Setting]) -> None:
    """Change values that librdkafka refuses, except of the keys in `kept`: librdkafka checks those of -X.

    Text that is no number stays, so that librdkafka reports it.
    """
    for key in (_LIMITS.keys() & properties.keys()) - kept.keys():
        properties[key] = _clamp(properties[key], *_LIMITS[key])
    if "client.dns.lookup" in properties and "client.dns.lookup" not in kept:
        lookup = properties.pop("client.dns.lookup").lower()
        # Java's clients before Kafka 4.0 also have "default".
        properties |= {"client.dns.lookup": lookup} if lookup in _DNS_LOOKUPS else {}
    backoff = "" if "reconnect.backoff.ms" in kept else properties.get("reconnect.backoff.ms", "")
    if backoff.isascii() and backoff.isdigit() and int(backoff) > _DEFAULT_MAX_BACKOFF_MS:
        # Without a maximum, Java uses the backoff for it.
        properties.setdefault("reconnect.backoff.max.ms", backoff)


def _clamp(text: str, smallest: int, largest: int) -> str:
    digits = text.removeprefix("-").removeprefix("+")
    if not digits.isascii() or not digits.isdigit():
        return text
    if text.startswith("-"):
        return str(smallest)
    # The number of digits is compared first: a text of very many digits takes long to convert.
    significant = digits.lstrip("0") or "0"
    return str(largest if len(significant) > len(str(largest)) else min(max(int(significant), smallest), largest))
