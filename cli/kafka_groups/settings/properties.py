"""Where settings are written: profiles, properties files, -X. Each value knows where it stands."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from kafka_groups.errors import SettingsError
from kafka_groups.settings.jaas import parse_jaas

# librdkafka's spelling -> the spelling used here (Java's, where both clients have the setting).
_ALIASES = {
    "metadata.broker.list": "bootstrap.servers",
    "ssl.ca.location": "ssl.truststore.location",
    "ssl.certificate.location": "ssl.keystore.location",
    "sasl.mechanisms": "sasl.mechanism",
}
_USED = frozenset(
    {
        "bootstrap.servers",
        "client.id",
        "sasl.jaas.config",
        "sasl.mechanism",
        "sasl.password",
        "sasl.username",
        "security.protocol",
        "socket.connection.setup.timeout.ms",
        "ssl.truststore.location",
        "ssl.truststore.type",
        "ssl.keystore.location",
        "ssl.keystore.type",
        "ssl.key.location",
        "ssl.key.password",
        "ssl.endpoint.identification.algorithm",
    }
)


class Setting(NamedTuple):
    """A value, and where a person finds it: `-b`, `-X client.id`, `profile 'x': timeout`."""

    value: str
    where: str


def profiles_file() -> Path:
    """Where the user's profiles are kept: a TOML file with one table a profile."""
    # platformdirs costs some milliseconds, and most runs name their broker.
    from platformdirs import user_config_path

    return user_config_path("kafka-groups") / "profiles.toml"


def read_profile(name: str | None, path: Path | None) -> dict[str, Setting]:
    """The settings of one profile; none without a name."""
    if not name:
        return {}
    import tomllib

    path = path or profiles_file()
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        document = {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        msg = f"the profiles file {path} cannot be read: {error}"
        raise SettingsError(msg) from error
    table = document.get(name)
    if not isinstance(table, dict):
        known = ", ".join(sorted(key for key, value in document.items() if isinstance(value, dict)))
        msg = f"there is no profile '{name}' in {path}; " + (f"it has: {known}" if known else "it has none")
        raise SettingsError(msg)
    return _normalise(_flatten(table), source=f"profile '{name}': ")


def read_properties_file(path: str) -> dict[str, Setting]:
    """The settings of a properties file, known or not: it may serve other programs too."""
    import javaproperties

    try:
        # An editor's byte order mark is no part of the first key.
        with Path(path).open(encoding="utf-8-sig") as file:
            return _normalise(javaproperties.load(file), source=f"{path}: ")
    except (OSError, UnicodeDecodeError, javaproperties.InvalidUEscapeError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        msg = f"the config file {path} cannot be read: {reason}"
        raise SettingsError(msg) from error


def parse_pairs(pairs: Sequence[str]) -> dict[str, Setting]:
    """The settings typed as -X, whatever they are."""
    parsed: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            # What follows the key may be a password.
            shown = pair if equals else (re.match(r"[\w.-]*", pair) or [""])[0]
            msg = f"-X {shown}{'' if shown == pair else '…'}: write KEY=VALUE"
            raise SettingsError(msg)
        parsed[key.strip()] = value.strip()
    return _normalise(parsed, source="-X ")


def parse_properties(pairs: Sequence[str]) -> dict[str, Setting]:
    """The settings typed as -X: what was typed now must have an effect."""
    normalised = parse_pairs(pairs)
    for key, setting in normalised.items():
        if key not in _USED:
            msg = f"{setting.where}: this tool has no such setting; it uses {', '.join(sorted(_USED))}"
            raise SettingsError(msg)
    return normalised


def _flatten(table: Mapping[str, object], prefix: str = "") -> dict[str, str]:
    flat: dict[str, str] = {}
    for key, value in table.items():
        if isinstance(value, dict):
            flat.update(_flatten(value, f"{prefix}{key}."))
        elif isinstance(value, list):
            flat[prefix + key] = ",".join(str(item) for item in value)
        else:
            flat[prefix + key] = str(value).lower() if isinstance(value, bool) else str(value)
    return flat


def _normalise(pairs: Mapping[str, str], *, source: str) -> dict[str, Setting]:
    normalised: dict[str, Setting] = {}
    for key, value in pairs.items():
        name = _ALIASES.get(key, key)
        if name == "enable.ssl.certificate.verification" and value.lower() == "false":
            msg = f"{source}{key}=false is not offered; name the broker's CA with ssl.ca.location instead"
            raise SettingsError(msg)
        normalised[name] = Setting(value, f"{source}{key}")
    if jaas := normalised.get("sasl.jaas.config"):
        # Here, so that it counts as much as its source does.
        for name, value in parse_jaas(jaas.value).login().items():
            normalised.setdefault(f"sasl.{name}", Setting(value, jaas.where))
    return normalised
