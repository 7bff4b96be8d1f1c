"""Connection settings: where they come from and which one wins.

Flags beat the environment, which beats the profile, which beats the config file. Every source is
flattened to dotted property names as Java's and librdkafka's clients spell them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kafka_groups.errors import SettingsError

ENVIRONMENT_PREFIX = "KAFKA_GROUPS_"
DEFAULT_PORT = 9092
_LAST_PORT = 65_535
DEFAULT_TIMEOUT_S = 30.0

# librdkafka's spelling -> the spelling used here (Java's, where both clients have the setting).
_ALIASES = {
    "metadata.broker.list": "bootstrap.servers",
    "ssl.ca.location": "ssl.truststore.location",
    "ssl.certificate.location": "ssl.keystore.location",
    "ssl.key.password": "ssl.key.password",
}
_USED = frozenset(
    {
        "bootstrap.servers",
        "client.id",
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
_DURATION = re.compile(r"(?P<number>\d+(?:\.\d+)?)(?P<unit>ms|s|m|h|d)")
_ISO_DURATION = re.compile(
    r"P(?:(?P<d>\d+)D)?(?:T(?:(?P<h>\d+)H)?(?:(?P<m>\d+)M)?(?:(?P<s>\d+(?:\.\d+)?)S)?)?", re.IGNORECASE
)
_UNIT_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


@dataclass(frozen=True, kw_only=True, slots=True)
class Endpoint:
    """A host and a port; an IPv6 address stands here without brackets."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


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


def resolve_settings(
    *,
    bootstrap: str | None = None,
    config: str | None = None,
    properties: Sequence[str] = (),
    profile: str | None = None,
    timeout: str | None = None,
    environment: Mapping[str, str],
    profiles: Path | None = None,
) -> ConnectionSettings:
    """Merge all sources into what the admin layer needs.

    The first six are what the flags said (None: not given); `profiles` is the profiles file,
    the user's own unless told. Raises SettingsError naming the source of what cannot be used.
    """
    stored = _read_profile(profile or environment.get(ENVIRONMENT_PREFIX + "PROFILE"), profiles)
    # A profile may name a config file, but one that was asked for now (flag or environment) replaces it.
    config = config or environment.get(ENVIRONMENT_PREFIX + "CONFIG") or stored.pop("config", None)
    merged = _read_properties_file(config) if config else {}
    timeout = timeout or environment.get(ENVIRONMENT_PREFIX + "TIMEOUT") or stored.pop("timeout", None)
    merged.update(stored)
    merged.update(
        {"bootstrap.servers": value} if (value := environment.get(ENVIRONMENT_PREFIX + "BOOTSTRAP_SERVER")) else {}
    )
    merged.update(_parse_properties(properties))
    if bootstrap is not None:
        merged["bootstrap.servers"] = bootstrap
    return _build(merged, timeout)


def parse_duration(text: str) -> float:
    """Seconds of `500ms`, `30s`, `10m`, `2h`, `1d` or ISO-8601 `PT10M`; ValueError says how to write one."""
    plain = _DURATION.fullmatch(text.strip())
    if plain:
        return float(plain["number"]) * _UNIT_S[plain["unit"]]
    iso = _ISO_DURATION.fullmatch(text.strip())
    if iso and any(iso.groups()):
        return sum(float(iso[unit] or 0) * _UNIT_S[unit] for unit in "dhms")
    hint = " (a number needs a unit)" if text.strip().replace(".", "", 1).isdigit() else ""
    msg = f"'{text}' is not a duration{hint}; write for example 30s or 500ms"
    raise ValueError(msg)


def parse_bootstrap(text: str) -> tuple[Endpoint, ...]:
    """Endpoints of `host:port,host:port`; a missing port is 9092, `[::1]:9092` is IPv6, `PLAINTEXT://` is dropped."""
    endpoints = tuple(_parse_endpoint(part.strip()) for part in text.split(",") if part.strip())
    if not endpoints:
        raise SettingsError("the bootstrap server list is empty; write host:port, for example -b localhost:9092")
    return endpoints


def profiles_file() -> Path:
    """Where the user's profiles are kept: a TOML file with one table a profile."""
    # platformdirs costs some milliseconds, and most runs name their broker.
    from platformdirs import user_config_path

    return user_config_path("kafka-groups") / "profiles.toml"


def _parse_endpoint(text: str) -> Endpoint:
    match = re.fullmatch(
        r"(?:[A-Za-z_]+://)?(?:\[(?P<v6>[0-9A-Fa-f:.%\w]+)\]|(?P<host>[^\s:/\[\],]+))(?::(?P<port>\d+))?", text
    )
    port = int(match["port"]) if match and match["port"] else DEFAULT_PORT
    if not match or not 0 < port <= _LAST_PORT:
        msg = f"'{text}' is not a bootstrap server; write host:port, for example localhost:9092 or [::1]:9092"
        raise SettingsError(msg)
    return Endpoint(host=match["v6"] or match["host"], port=port)


def _read_profile(name: str | None, path: Path | None) -> dict[str, str]:
    if name is None:
        return {}
    import tomllib

    path = path or profiles_file()
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
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
    return _normalise(_flatten(table), source=f"profile '{name}'")


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


def _read_properties_file(path: str) -> dict[str, str]:
    import javaproperties

    try:
        with Path(path).open(encoding="utf-8") as file:
            return _normalise(javaproperties.load(file), source=path)
    except (OSError, UnicodeDecodeError, javaproperties.InvalidUEscapeError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        msg = f"the config file {path} cannot be read: {reason}"
        raise SettingsError(msg) from error


def _parse_properties(pairs: Sequence[str]) -> dict[str, str]:
    parsed: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            msg = f"-X {pair}: write KEY=VALUE"
            raise SettingsError(msg)
        parsed[key.strip()] = value.strip()
    normalised = _normalise(parsed, source="-X")
    for key in normalised:
        # A file may carry settings for other programs; what was typed now must not be without effect.
        if key not in _USED and not key.startswith("sasl."):
            msg = f"-X {key}: this tool has no such setting; it uses {', '.join(sorted(_USED))}"
            raise SettingsError(msg)
    return normalised


def _normalise(pairs: Mapping[str, str], *, source: str) -> dict[str, str]:
    normalised: dict[str, str] = {}
    for key, value in pairs.items():
        name = _ALIASES.get(key, key)
        if name == "enable.ssl.certificate.verification" and value.lower() == "false":
            msg = f"{source}: {key}=false is not offered; name the broker's CA with ssl.ca.location instead"
            raise SettingsError(msg)
        normalised[name] = value
    return normalised


def _build(merged: Mapping[str, str], timeout: str | None) -> ConnectionSettings:
    servers = merged.get("bootstrap.servers")
    if not servers:
        raise SettingsError(
            "no cluster is named; give -b HOST:PORT, --profile NAME, or set KAFKA_GROUPS_BOOTSTRAP_SERVER"
        )
    return ConnectionSettings(
        bootstrap=parse_bootstrap(servers),
        timeout_s=_timeout(timeout),
        client_id=merged.get("client.id") or "kafka-groups",
        connect_timeout_s=_milliseconds(merged, "socket.connection.setup.timeout.ms", 10_000) / 1000,
        tls=_tls(merged),
    )


def _timeout(text: str | None) -> float:
    if text is None:
        return DEFAULT_TIMEOUT_S
    try:
        seconds = parse_duration(text)
    except ValueError as error:
        msg = f"--timeout: {error}"
        raise SettingsError(msg) from None
    if seconds <= 0:
        raise SettingsError("--timeout must be more than nothing; write for example 30s")
    return seconds


def _milliseconds(merged: Mapping[str, str], key: str, default: int) -> int:
    text = merged.get(key, str(default))
    if not text.isdecimal() or int(text) == 0:
        msg = f"{key}={text}: write a number of milliseconds"
        raise SettingsError(msg)
    return int(text)


def _tls(merged: Mapping[str, str]) -> Tls | None:
    protocol = merged.get("security.protocol", "PLAINTEXT").upper()
    if protocol == "PLAINTEXT":
        return None
    if protocol != "SSL":
        known = protocol in {"SASL_PLAINTEXT", "SASL_SSL"}
        msg = (
            f"security.protocol={protocol} is not supported yet; this version speaks PLAINTEXT and SSL"
            if known
            else f"security.protocol={protocol} is unknown; write PLAINTEXT or SSL"
        )
        raise SettingsError(msg)
    for key in ("ssl.truststore.type", "ssl.keystore.type"):
        if merged.get(key, "PEM").upper() != "PEM":
            msg = (
                f"{key}={merged[key]} is not supported yet; give PEM files (ssl.ca.location, ssl.certificate.location)"
            )
            raise SettingsError(msg)
    if merged.get("ssl.key.location") and not merged.get("ssl.keystore.location"):
        raise SettingsError("ssl.key.location needs the certificate that goes with it: set ssl.certificate.location")
    return Tls(
        ca_file=merged.get("ssl.truststore.location"),
        certificate_file=merged.get("ssl.keystore.location"),
        key_file=merged.get("ssl.key.location"),
        key_password=merged.get("ssl.key.password"),
        check_host_name=merged.get("ssl.endpoint.identification.algorithm", "https").lower() not in {"", "none"},
    )
