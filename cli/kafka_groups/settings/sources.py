"""The sources of settings and their precedence: flags, environment, profile, config file."""

from __future__ import annotations

import os
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Final, NamedTuple, Required, TypedDict

from kafka_groups.errors import SettingsError
from kafka_groups.settings.pairs import PASSWORD_KEYS, Setting, read_properties_file
from kafka_groups.settings.profiles import read_profile
from kafka_groups.settings.properties import (
    AWS_KEYS,
    KEYTAB,
    LOGIN_HANDLER,
    PRINCIPAL,
    TOKEN_COMMAND,
    TOKEN_SOURCE_KEYS,
    is_known,
    is_provider_key,
)
from kafka_groups.settings.values import (
    VARIABLE_PREFIX,
    Endpoint,
    hint_of_variable,
    parse_bootstrap,
    parse_duration,
)

DEFAULT_TIMEOUT_S: Final = 30.0
_VARIABLES: Final = ("BOOTSTRAP_SERVER", "CONFIG", "PROFILE", "SASL_PASSWORD", "TIMEOUT")
# A profile or a config file of a flag names its own cluster. These variables could send its password to another one,
# or the password of another one to it.
_SWITCHED_OFF: Final = frozenset({"BOOTSTRAP_SERVER", "CONFIG", "PROFILE", "SASL_PASSWORD"})
# Keys of profiles alone; a properties file that has them means something else.
_PROFILE_KEYS: Final = frozenset({"config", "timeout"})

# Keys besides those of TLS whose empty value means the default; `client.id` is empty in Java by default.
_DEFAULT_IF_EMPTY: Final = frozenset({"client.id", "sasl.mechanism", "security.protocol"})

# The private key of a client certificate: that of a lower source belongs to another certificate.
_PRIVATE_KEY: Final = ("ssl.key.location", "ssl.keystore.key", "ssl.key.password", "ssl.keystore.password")
_TRUST_STORE: Final = ("ssl.truststore.type", "ssl.truststore.password")

# Settings of a lower source that one of a higher source replaces: another form of it, the type of a store, its key.
_REPLACED: Final[Mapping[str, Sequence[str]]] = {
    "sasl.jaas.config": (*PASSWORD_KEYS, *TOKEN_SOURCE_KEYS, *AWS_KEYS, KEYTAB, PRINCIPAL),
    # Java's handler may be the one of a cloud, which fetches tokens without any other property.
    **{key: [*(other for other in TOKEN_SOURCE_KEYS if other != key), LOGIN_HANDLER] for key in TOKEN_SOURCE_KEYS},
    "ssl.truststore.location": ("ssl.truststore.certificates", *_TRUST_STORE),
    "ssl.truststore.certificates": ("ssl.truststore.location", *_TRUST_STORE),
    "ssl.keystore.location": ("ssl.keystore.certificate.chain", "ssl.keystore.type", *_PRIVATE_KEY),
    "ssl.keystore.certificate.chain": ("ssl.keystore.location", "ssl.keystore.type", *_PRIVATE_KEY),
    "ssl.key.location": ("ssl.keystore.key",),
    "ssl.keystore.key": ("ssl.key.location",),
}


class Sources(TypedDict, total=False):
    """The sources of settings; one that is None or absent is not given.

    The first five are flags. `profiles` is the path of the profiles file, by default the user's own.
    """

    bootstrap: str | None
    config: str | None
    properties: Sequence[str]
    profile: str | None
    timeout: str | None
    environment: Required[Mapping[str, str]]
    profiles: Path | None


class Layers(NamedTuple):
    """The settings of each source but variables of the environment, the lowest source first."""

    file: Mapping[str, Setting]
    profile: Mapping[str, Setting]
    flags: Mapping[str, Setting]


class MergedSettings(NamedTuple):
    """The settings of all sources, by canonical name: for each one the value of the source that wins.

    `timeout` is None if no source has one. `sources` names the profile and the config file that were read;
    `flags_name_cluster` is true if a flag named one of them. `profile` is the name of the profile, if there is one.
    """

    settings: Mapping[str, Setting]
    timeout: Setting | None
    sources: tuple[str, ...]
    flags_name_cluster: bool
    profile: str | None = None

    def bootstrap(self) -> Setting:
        """Return the bootstrap servers; SettingsError if no source has any."""
        servers = self.settings.get("bootstrap.servers")
        if servers is not None and servers.value:
            return servers if servers.problem is None else servers.checked()
        searched = " and ".join(self.sources) if servers is None or servers.source != "-b" else ""
        where = f" in {searched} (bootstrap.servers)" if searched else ""
        ways = "give -b HOST:PORT, --profile NAME, or set KAFKA_GROUPS_BOOTSTRAP_SERVER"
        if where and self.flags_name_cluster:
            ways = "add it there, or give -b HOST:PORT"
        msg = f"no cluster is named{where}; {ways}"
        raise SettingsError(msg)

    def may_have_secrets(self) -> bool:
        """Return whether a file, a flag, a variable or a command gives a setting: no program and no -b alone."""
        return any(
            each.origin or each.problem is not None or each.command is not None for each in self.settings.values()
        )

    def timeout_s(self) -> float:
        """Return the timeout in seconds; SettingsError if it is not a duration greater than 0."""
        if self.timeout is None:
            return DEFAULT_TIMEOUT_S
        try:
            seconds = parse_duration(self.timeout.checked().value)
        except ValueError as error:
            msg = f"{self.timeout.source}: {error}{hint_of_variable(self.timeout.value)}"
            raise SettingsError(msg) from None
        if seconds <= 0:
            msg = f"{self.timeout.source} must be greater than 0, for example 30s"
            raise SettingsError(msg)
        return seconds


def merge_sources(flag_settings: Mapping[str, Setting], sources: Sources) -> MergedSettings:
    """Return the settings of all sources, by precedence; those of -X are `flag_settings`, parsed by the caller."""
    _check_flags(sources)
    flags_name_cluster = bool(sources.get("profile") or sources.get("config"))
    variables = _variables(sources["environment"], flags_name_cluster=flags_name_cluster)
    profile = sources.get("profile") or _value(variables.get("PROFILE"))
    searched = [f"profile '{profile}'"] if profile else []
    given = Layers({}, read_profile(profile, sources.get("profiles")) if profile else {}, flag_settings)
    # Only a flag replaces the config file that a profile names: with that of the environment, which may be of another
    # cluster, the profile's password would be sent to its servers.
    named = _replace_variables(given, sources["environment"], is_used="config".__eq__).profile.get("config")
    if file := sources.get("config") or _value(named and named.checked()) or _value(variables.get("CONFIG")):
        searched.append(f"the config file {file}")
        given = given._replace(file=_without_profile_keys(read_properties_file(file)))
    *lower, flag_settings = _replace_variables(given, sources["environment"], is_used=_is_used)
    merged = reduce(_override, lower, dict[str, Setting]())
    flag = Setting(timeout, "--timeout") if (timeout := sources.get("timeout")) is not None else None
    winner = flag or variables.get("TIMEOUT") or merged.get("timeout")
    if "BOOTSTRAP_SERVER" in variables:
        merged["bootstrap.servers"] = variables["BOOTSTRAP_SERVER"]
    if "SASL_PASSWORD" in variables:
        merged = _override(merged, {"sasl.password": variables["SASL_PASSWORD"]})
    merged = _override(merged, flag_settings)
    if (bootstrap := sources.get("bootstrap")) is not None:
        merged["bootstrap.servers"] = Setting(bootstrap, "-b")
    return MergedSettings(
        _without_empty(merged),
        timeout=winner,
        sources=tuple(searched),
        flags_name_cluster=flags_name_cluster,
        profile=profile,
    )


def _replace_variables(layers: Layers, environment: Mapping[str, str], *, is_used: Callable[[str], bool]) -> Layers:
    """Return the settings of sources with the values of config providers, and of the variables of a profile."""
    declared = any("config.providers" in layer for layer in layers)
    if not declared and not any("${" in setting.value for setting in layers.profile.values()):
        return layers
    # Imported here, as most settings declare no config provider.
    from kafka_groups.settings.providers import ConfigProviders, replace_variables

    declarations = {name: each for layer in layers for name, each in layer.items() if is_provider_key(name)}
    # A program that passes its settings has the environment of the process.
    providers = ConfigProviders(declarations, ChainMap(dict(environment), dict(os.environ)))
    return Layers(
        file=replace_variables(layers.file, providers, is_used),
        profile=replace_variables(layers.profile, providers, is_used, of_profile=True),
        flags=replace_variables(layers.flags, providers, is_used),
    )


def _is_used(name: str) -> bool:
    # A command is taken as written.
    return name != TOKEN_COMMAND and (is_known(name) or name in _PROFILE_KEYS)


def parse_servers(servers: Setting, protocol: str) -> tuple[Endpoint, ...]:
    """Return the endpoints of the bootstrap servers; a SettingsError names their source."""
    try:
        return parse_bootstrap(servers.value, protocol=protocol)
    except SettingsError as error:
        msg = f"{servers.source}: {error}{hint_of_variable(servers.value)}"
        raise SettingsError(msg) from None


def _check_flags(sources: Sources) -> None:
    """Raise SettingsError for an empty flag: the environment would name another cluster in its place."""
    for flag, value in (("--profile", sources.get("profile")), ("--config", sources.get("config"))):
        if value == "":
            msg = f"{flag} is empty, such as from a shell variable that is not set; give a name, or remove {flag}"
            raise SettingsError(msg)


def _variables(environment: Mapping[str, str], *, flags_name_cluster: bool) -> dict[str, Setting]:
    names = [name for name in _VARIABLES if not (flags_name_cluster and name in _SWITCHED_OFF)]
    return {
        name: Setting(value, VARIABLE_PREFIX + name)
        for name in names
        if (value := environment.get(VARIABLE_PREFIX + name))
    }


def _value(setting: Setting | None) -> str | None:
    return setting.value if setting else None


def _override(lower: Mapping[str, Setting], higher: Mapping[str, Setting]) -> dict[str, Setting]:
    replaced = {name for key in higher for name in _REPLACED.get(key, ())}
    return {**{key: setting for key, setting in lower.items() if key not in replaced}, **higher}


def _without_empty(settings: Mapping[str, Setting]) -> dict[str, Setting]:
    """Return the settings without empty ones that mean their default; a higher source has overridden the lower ones."""
    return {
        key: setting
        for key, setting in settings.items()
        if setting.value or setting.command is not None or not _is_default_if_empty(key)
    }


def _is_default_if_empty(key: str) -> bool:
    # An empty algorithm switches the check of host names off.
    return key in _DEFAULT_IF_EMPTY or (key.startswith("ssl.") and key != "ssl.endpoint.identification.algorithm")


def _without_profile_keys(settings: Mapping[str, Setting]) -> dict[str, Setting]:
    return {key: setting for key, setting in settings.items() if key not in _PROFILE_KEYS}
