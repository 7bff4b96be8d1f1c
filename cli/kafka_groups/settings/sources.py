"""All sources of settings as one: flags beat the environment, which beats the profile, which beats the config file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, Required, TypedDict

from kafka_groups.errors import SettingsError
from kafka_groups.settings.properties import Setting, read_profile, read_properties_file
from kafka_groups.settings.values import parse_duration

DEFAULT_TIMEOUT_S: Final = 30.0
_PREFIX: Final = "KAFKA_GROUPS_"


class Sources(TypedDict, total=False):
    """Where settings may come from. None, or not there: not given.

    The first five are what the flags said; `profiles` is the profiles file, the user's own unless told.
    """

    bootstrap: str | None
    config: str | None
    properties: Sequence[str]
    profile: str | None
    timeout: str | None
    environment: Required[Mapping[str, str]]
    profiles: Path | None


class Merged(NamedTuple):
    """What won, by dotted name; the timeout that won; and in which sources a cluster was looked for."""

    settings: Mapping[str, Setting]
    waiting: Setting | None
    asked: tuple[str, ...]

    def bootstrap(self) -> Setting:
        """The brokers to ask first; SettingsError if no source names any."""
        servers = self.settings.get("bootstrap.servers")
        if servers is not None and servers.value:
            return servers
        lacking = " and ".join(self.asked) if servers is None or servers.where != "-b" else ""
        msg = (
            f"no cluster is named{f' in {lacking} (bootstrap.servers)' if lacking else ''}; "
            f"give -b HOST:PORT, --profile NAME, or set KAFKA_GROUPS_BOOTSTRAP_SERVER"
        )
        raise SettingsError(msg)

    def timeout_s(self) -> float:
        """The one deadline in seconds; SettingsError if what was written is none."""
        if self.waiting is None:
            return DEFAULT_TIMEOUT_S
        try:
            seconds = parse_duration(self.waiting.value)
        except ValueError as error:
            msg = f"{self.waiting.where}: {error}"
            raise SettingsError(msg) from None
        if seconds <= 0:
            msg = f"{self.waiting.where} must be more than nothing; write for example 30s"
            raise SettingsError(msg)
        return seconds


def merge_sources(typed: Mapping[str, Setting], sources: Sources) -> Merged:
    """Every source in its order; `typed` is what -X said, as whoever asks reads it."""
    environment, bootstrap = sources["environment"], sources.get("bootstrap")
    variables = {
        name: Setting(value, _PREFIX + name)
        for name in ("BOOTSTRAP_SERVER", "CONFIG", "PROFILE", "TIMEOUT")
        if (value := environment.get(_PREFIX + name))
    }
    asked = [f"profile '{name}'"] if (name := sources.get("profile") or _value(variables.get("PROFILE"))) else []
    merged = read_profile(name, sources.get("profiles"))
    # A profile may name a config file, but one that was asked for now (flag or environment) replaces it.
    if file := sources.get("config") or _value(variables.get("CONFIG") or merged.get("config")):
        asked.append(f"the config file {file}")
        merged = {**_without_ours(read_properties_file(file)), **merged}
    flag = Setting(timeout, "--timeout") if (timeout := sources.get("timeout")) else None
    waiting = flag or variables.get("TIMEOUT") or merged.get("timeout")
    if "BOOTSTRAP_SERVER" in variables:
        merged["bootstrap.servers"] = variables["BOOTSTRAP_SERVER"]
    merged.update(typed)
    if bootstrap is not None:
        merged["bootstrap.servers"] = Setting(bootstrap, "-b")
    return Merged(merged, waiting, tuple(asked))


def _value(setting: Setting | None) -> str | None:
    return setting.value if setting else None


def _without_ours(found: Mapping[str, Setting]) -> dict[str, Setting]:
    # `config` and `timeout` are words of profiles; a properties file that has them means something else.
    return {key: setting for key, setting in found.items() if key not in {"config", "timeout"}}
