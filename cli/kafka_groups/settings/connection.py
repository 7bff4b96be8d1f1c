"""The settings of the network layer: brokers, timeouts, TLS and credentials."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Unpack

from kafka_groups.errors import SettingsError
from kafka_groups.numerals import hint_of_integer
from kafka_groups.settings.pairs import (
    Setting,
    parse_network_pairs,
    require_effect,
    to_network_settings,
)
from kafka_groups.settings.properties import NETWORK_KEYS
from kafka_groups.settings.sasl import SaslCredentials, sasl_credentials
from kafka_groups.settings.sources import DEFAULT_TIMEOUT_S, MergedSettings, Sources, merge_sources, parse_servers
from kafka_groups.settings.tls import Tls, tls_settings
from kafka_groups.settings.values import CANONICAL_NAMES, LONGEST_S, PROTOCOLS, Endpoint, hint_of_variable, is_utf8

# Every request has the length of the client ID in 16 bits.
_LONGEST_CLIENT_ID = 32_767


@dataclass(frozen=True, kw_only=True, slots=True)
class ConnectionSettings:
    """The settings that the admin layer needs to reach a cluster.

    `timeout_s` is the timeout in seconds for all requests of a command, or for each request, as the command defines.
    `cluster_name` is how the user calls the cluster (`cluster.name`), and `profile` is the name of its profile, if any.
    With `resolve_canonical_names`, the bootstrap servers are aliases of servers with other names (KIP-235).
    `sources` has the place of each property of the user's, also of properties without effect, for errors to name.
    `warnings` are sentences about secrets that other users can read; the caller prints them.
    """

    bootstrap: tuple[Endpoint, ...]
    timeout_s: float = DEFAULT_TIMEOUT_S
    client_id: str = "kafka-groups"
    cluster_name: str | None = None
    profile: str | None = None
    connect_timeout_s: float = 10.0
    tls: Tls | None = None
    credentials: SaslCredentials | None = None
    resolve_canonical_names: bool = False
    sources: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    warnings: tuple[str, ...] = field(default=(), repr=False, compare=False)

    def __post_init__(self) -> None:
        """Raise SettingsError if there is no server to connect to."""
        if not self.bootstrap:
            raise SettingsError("the settings have no bootstrap servers; pass at least one Endpoint as bootstrap")

    def substitute_cluster_id(self) -> str:
        """Return what stands for the id of a cluster whose brokers return none: its name, or its servers."""
        if self.cluster_name:
            return f"cluster.name={self.cluster_name}"
        return f"bootstrap.servers={','.join(sorted(str(server).lower() for server in self.bootstrap))}"


def resolve_settings(**sources: Unpack[Sources]) -> ConnectionSettings:
    """Merge all sources into the settings of the admin layer.

    Raises SettingsError for a setting that cannot be used; the error names the source of the setting.
    """
    pairs = sources.get("properties", ())
    flag_settings = parse_network_pairs(pairs) if pairs else {}
    return _build(merge_sources(flag_settings, sources), flag_settings)


def settings_from(properties: Mapping[str, str | float]) -> ConnectionSettings:
    """Return the settings of the admin layer from properties by Java's or librdkafka's names.

    The environment, profiles and config files are not read. Raises SettingsError for a setting that cannot be used.
    """
    settings = to_network_settings(properties)
    servers = settings.get("bootstrap.servers")
    if servers is None or not servers.value:
        raise SettingsError('no cluster is named; pass {"bootstrap.servers": "HOST:PORT,…"}')
    return _build(merge_sources(settings, {"environment": {}}), settings)


def _build(merged: MergedSettings, flag_settings: Mapping[str, Setting]) -> ConnectionSettings:
    servers = merged.bootstrap()
    protocol = security_protocol(merged.settings.get("security.protocol"))
    if flag_settings:
        require_effect(flag_settings, protocol.value)
    warnings: tuple[str, ...] = ()
    if merged.may_have_secrets():
        # Imported here, as many commands need -b alone.
        from kafka_groups.settings.secrets import use_secrets

        merged, warnings = use_secrets(merged, NETWORK_KEYS, protocol.value)
    settings = merged.settings
    return ConnectionSettings(
        bootstrap=parse_servers(servers, protocol.value),
        timeout_s=merged.timeout_s(),
        client_id=_client_id(settings.get("client.id")),
        cluster_name=settings["cluster.name"].value if "cluster.name" in settings else None,
        profile=merged.profile,
        connect_timeout_s=_milliseconds(settings.get("socket.connection.setup.timeout.ms"), 10_000) / 1000,
        tls=_tls(settings) if protocol.value.endswith("SSL") else None,
        credentials=sasl_credentials(settings, protocol) if protocol.value.startswith("SASL_") else None,
        resolve_canonical_names=_wants_canonical_names(settings.get("client.dns.lookup")),
        sources={name: setting.source for name, setting in settings.items()},
        warnings=warnings,
    )


def _tls(settings: Mapping[str, Setting]) -> Tls:
    # Imported here, as many commands use no TLS.
    from kafka_groups.settings.stores.replacement import replace_stores

    return tls_settings(replace_stores(settings))


def _client_id(setting: Setting | None) -> str:
    if setting is None:
        return "kafka-groups"
    if not is_utf8(setting.value):
        msg = f"{setting.source} is not valid UTF-8; write it in UTF-8"
        raise SettingsError(msg)
    size = len(setting.value.encode())
    if size > _LONGEST_CLIENT_ID:
        msg = f"{setting.source}: the client ID has {size} bytes; write at most {_LONGEST_CLIENT_ID} bytes"
        raise SettingsError(msg)
    return setting.value


def _wants_canonical_names(setting: Setting | None) -> bool:
    # Java's clients before Kafka 4.0 also have "default".
    if setting is None or setting.value.lower() in {"", "default", "use_all_dns_ips"}:
        return False
    if setting.value.lower() != CANONICAL_NAMES:
        msg = f"{setting.source}={setting.value} is unknown; write use_all_dns_ips or {CANONICAL_NAMES}"
        raise SettingsError(msg + hint_of_variable(setting.value))
    return True


def _milliseconds(setting: Setting | None, default: int) -> int:
    if setting is None:
        return default
    text = setting.value
    source = setting.source
    digits = text.removeprefix("+")
    if not (digits.isascii() and digits.isdigit()) or not digits.strip("0"):
        hint = hint_of_integer(text) or "; write for example 10000"
        msg = f"{source}={text} is not a number of milliseconds greater than 0{hint}{hint_of_variable(text)}"
        raise SettingsError(msg)
    # The number of digits is compared first: a text of very many digits takes long to convert.
    if len(digits.lstrip("0")) > len("31536000000") or int(digits) / 1000 > LONGEST_S:
        msg = f"{source} is too long; 365 days ({LONGEST_S * 1000:.0f}) is the longest"
        raise SettingsError(msg)
    return int(digits)


def security_protocol(setting: Setting | None) -> Setting:
    """Return the security protocol in upper case, PLAINTEXT if none is set; SettingsError for an unknown one."""
    if setting is None:
        return Setting(PROTOCOLS[0], "")
    value = setting.checked().value
    protocol = value.upper()
    if protocol not in PROTOCOLS:
        ways = f"write {', '.join(PROTOCOLS[:-1])} or {PROTOCOLS[-1]}"
        msg = f"{setting.source}={value} is unknown; {ways}{hint_of_variable(value)}"
        raise SettingsError(msg)
    return setting._replace(value=protocol)
