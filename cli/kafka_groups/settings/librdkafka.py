"""The same settings as the wire's, from the same sources, as librdkafka's properties: all that it knows passes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Unpack

from kafka_groups.errors import SettingsError
from kafka_groups.settings.properties import Setting, parse_pairs
from kafka_groups.settings.sasl import check_jaas, check_login_is_wanted
from kafka_groups.settings.sources import DEFAULT_TIMEOUT_S, Sources, merge_sources
from kafka_groups.settings.values import parse_bootstrap

# What a file or a profile says of these is for us; the rest of a file serves other programs.
_CONNECTION: Final = frozenset(
    {
        "bootstrap.servers",
        "broker.address.family",
        "client.dns.lookup",
        "client.id",
        "client.rack",
        "connections.max.idle.ms",
        "enable.sasl.oauthbearer.unsecure.jwt",
        "reconnect.backoff.max.ms",
        "reconnect.backoff.ms",
        "security.protocol",
        "socket.connection.setup.timeout.ms",
        "socket.keepalive.enable",
        "socket.nagle.disable",
        "socket.timeout.ms",
        "ssl.ca.certificate.stores",
        "ssl.ca.pem",
        "ssl.certificate.pem",
        "ssl.crl.location",
        "ssl.curves.list",
        "ssl.endpoint.identification.algorithm",
        "ssl.key.location",
        "ssl.key.password",
        "ssl.key.pem",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.providers",
        "ssl.sigalgs.list",
        "ssl.truststore.location",
    }
)
_SASL: Final = re.compile(
    r"sasl\.(mechanisms?|username|password|kerberos\.(service\.name|principal|keytab|kinit\.cmd|min\.time\.before\.relogin)"
    r"|oauthbearer\.(config|method|client\.id|client\.secret|scope|extensions|token\.endpoint\.url))"
)
# Consumed here, whoever wrote them.
_JAVAS_OWN: Final = ("sasl.jaas.config", "ssl.truststore.type", "ssl.keystore.type")
# The pipeline joins no group and commits nothing; these would make it.
_NOT_TO_BE_SET: Final = frozenset(
    {"group.id", "group.instance.id", "group.protocol", "enable.auto.commit", "isolation.level", "enable.partition.eof"}
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ClientSettings:
    """librdkafka's properties; they hold secrets, so they are no part of the repr."""

    properties: Mapping[str, str] = field(repr=False)
    timeout_s: float = DEFAULT_TIMEOUT_S


def resolve_client(**sources: Unpack[Sources]) -> ClientSettings:
    """Merge all sources, as `resolve_settings` does, into what librdkafka needs.

    Java's names become librdkafka's. A file's keys that have nothing to do with reaching a cluster are left out;
    -X passes whatever librdkafka knows, which judges it. SettingsError names the source of what cannot be used.
    """
    typed = parse_pairs(sources.get("properties", ()))
    merged = merge_sources(typed, sources)
    servers = merged.bootstrap()
    odd = next((setting for key, setting in typed.items() if key in _NOT_TO_BE_SET), None)
    if odd is not None:
        msg = f"{odd.where}: the pipeline reads without a group and commits nothing, so this cannot be set"
        raise SettingsError(msg)
    known = {
        key: setting
        for key, setting in merged.settings.items()
        if key in typed or key in _CONNECTION or key in _JAVAS_OWN or _SASL.fullmatch(key)
    }
    client = {key: setting.value for key, setting in known.items() if key not in _JAVAS_OWN}
    protocol = client.get("security.protocol", "plaintext").upper()
    client["bootstrap.servers"] = _servers(servers, protocol)
    client.setdefault("client.id", "kafka-groups")
    if "security.protocol" in client:
        client["security.protocol"] = client["security.protocol"].lower()
    if "sasl.mechanism" in client:
        client["sasl.mechanism"] = client["sasl.mechanism"].upper()
    _spell_tls(known, client)
    check_jaas(known)
    check_login_is_wanted(typed, protocol)
    return ClientSettings(properties=client, timeout_s=merged.timeout_s())


def _servers(servers: Setting, protocol: str) -> str:
    try:
        return ",".join(map(str, parse_bootstrap(servers.value, protocol=protocol)))
    except SettingsError as error:
        msg = f"{servers.where}: {error}"
        raise SettingsError(msg) from None


def _spell_tls(known: Mapping[str, Setting], client: dict[str, str]) -> None:
    """PEM files as librdkafka names them; a PKCS#12 key store is what it calls a key store itself."""
    kinds = {key: known[key] for key in ("ssl.truststore.type", "ssl.keystore.type") if key in known}
    is_pkcs12 = "ssl.keystore.type" in kinds and kinds["ssl.keystore.type"].value.upper() == "PKCS12"
    for key, (kind, where) in kinds.items():
        if kind.upper() != "PEM" and not (key == "ssl.keystore.type" and is_pkcs12):
            msg = f"{where}={kind} is not supported; give PEM files (ssl.ca.location, ssl.certificate.location)"
            raise SettingsError(msg)
    if authority := client.pop("ssl.truststore.location", None):
        client["ssl.ca.location"] = authority
    if not is_pkcs12 and (certificate := client.pop("ssl.keystore.location", None)):
        client["ssl.certificate.location"] = certificate
        # Java's PEM key store holds both.
        client.setdefault("ssl.key.location", certificate)
    if "ssl.endpoint.identification.algorithm" in client:
        told = client["ssl.endpoint.identification.algorithm"].lower()
        client["ssl.endpoint.identification.algorithm"] = told or "none"
