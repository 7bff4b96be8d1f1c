"""Key-value pairs of users, as settings: properties files, and -X KEY=VALUE."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Final, NamedTuple

from kafka_groups.errors import KafkaGroupsError, SettingsError
from kafka_groups.settings.file_access import read_file, refuse_foreign_writers
from kafka_groups.settings.properties import (
    NETWORK_KEYS,
    SUPPORTED_KEYS,
    TOKEN_COMMAND,
    canonical_name,
    is_known,
    is_provider_key,
    secret_of_command,
    suggest_property,
)

# Kafka's clients trim every value with Java's String.trim, passwords included (ConfigDef.parseType).
_TRIMMED: Final = "".join(map(chr, range(0x21)))

# The user and the password, which a JAAS text may have.
PASSWORD_KEYS: Final = ("sasl.username", "sasl.password")

# The origin of values that are arguments of this process.
FLAG: Final = "-X"

# The spellings that librdkafka accepts.
_FALSE: Final = frozenset({"false", "f", "0"})


class Setting(NamedTuple):
    """The value of a property, and the place where the user wrote it: `-b`, `-X client.id`, `profile 'x': timeout`.

    The value may be secret, so the repr does not show it. `problem` is why a variable of it has no value; it is raised
    by `checked`, so that a setting which is not used needs no value. `origin` is where the value itself stands: the
    path of a file, or FLAG; it is empty for a value that comes from a variable, a command or a program.
    A `command` prints the value, and has not run yet.
    """

    value: str
    source: str
    problem: KafkaGroupsError | None = None
    origin: str = ""
    command: str | None = None

    def __repr__(self) -> str:
        return f"Setting(source={self.source!r})"

    def checked(self) -> Setting:
        """Return the setting. Raises its problem, if it has one."""
        if self.problem is not None:
            raise self.problem
        return self


def read_properties_file(path: str) -> dict[str, Setting]:
    """Return the settings of a properties file, unknown ones included: other programs may read the file too.

    Raises SettingsError if the file cannot be read, and if it names a command and others can write it.
    """
    import javaproperties

    try:
        file = read_file(Path(path))
        pairs = javaproperties.load(StringIO(_decode(file.data), newline=None), object_pairs_hook=list)
    except javaproperties.InvalidUEscapeError:
        # The library's message has the characters after \u, which may belong to a password.
        problem = r"a \u is not followed by four hexadecimal digits; write a backslash as \\"
    except OSError as error:
        problem = error.strerror or str(error)
    except UnicodeError:
        problem = "it is not a text file, or is UTF-16; save it in UTF-8"
    except ValueError:
        problem = "its path has a NUL character; remove it"
    else:
        settings = to_settings(pairs, source=f"{path}: ", origin=path)
        refuse_foreign_writers(file, [TOKEN_COMMAND] if TOKEN_COMMAND in settings else [])
        return _commands_of_profiles(settings) | settings
    msg = f"the config file {path} cannot be read: {problem}"
    raise SettingsError(msg)


def _commands_of_profiles(settings: Mapping[str, Setting]) -> dict[str, Setting]:
    """Return the secrets whose commands a properties file has, each with the problem that it has to be in a profile.

    None of these commands runs.
    """
    problem = "commands are for profiles alone; write the command to a profile, or use a config provider"
    return {
        secret: Setting("", setting.source, problem=SettingsError(f"{setting.source}: {problem}"), command="")
        for key, setting in settings.items()
        if (secret := secret_of_command(key)) is not None
    }


def _decode(data: bytes) -> str:
    """Return the text of a properties file: UTF-8, else ISO-8859-1, which Java reads. UnicodeError for UTF-16."""
    if b"\0" in data:
        raise UnicodeError
    try:
        # A byte order mark, which some editors write, is no part of the first key.
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("iso-8859-1")


def parse_pairs(pairs: Sequence[str]) -> dict[str, Setting]:
    """Return the settings of -X, unknown ones included. Raises SettingsError for text that is no KEY=VALUE."""
    parsed: list[tuple[str, str]] = []
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not re.fullmatch(r"[\w.-]+", key.strip()):
            # Any text but a known key may be a password.
            shown = re.split(r"[^\w.-]", pair.strip())[0]
            msg = f"-X {shown}…: write KEY=VALUE" if is_known(shown) else "-X: write KEY=VALUE"
            raise SettingsError(msg)
        parsed.append((key.strip(), value))
    return to_settings(parsed, source="-X ", origin=FLAG)


def parse_network_pairs(pairs: Sequence[str]) -> dict[str, Setting]:
    """Return the settings of -X for the network layer.

    Raises SettingsError for a property that the network layer does not use: a flag must have an effect.
    """
    return _require_network(parse_pairs(pairs))


def to_network_settings(properties: Mapping[str, str | float]) -> dict[str, Setting]:
    """Return properties of Python code as settings for the network layer; True is `true`, as in properties files.

    Raises SettingsError for a property that the network layer does not use, and for a value of another type.
    """
    pairs: list[tuple[str, str]] = []
    for key, value in properties.items():
        if not isinstance(value, (str, int, float)):
            msg = f"{key}: the value has the type {type(value).__name__}; pass a str, an int or a bool"
            raise SettingsError(msg)
        pairs.append((key, str(value).lower() if isinstance(value, bool) else str(value)))
    return _require_network(to_settings(pairs, source=""))


def _require_network(settings: dict[str, Setting]) -> dict[str, Setting]:
    for name, setting in settings.items():
        if name not in NETWORK_KEYS and not is_provider_key(name):
            supported = ", ".join(SUPPORTED_KEYS)
            hint = suggest_property(name, network=True)
            msg = f"{setting.source}: this property is not supported; supported properties are {supported}{hint}"
            raise SettingsError(msg)
    return settings


def require_effect(flag_settings: Mapping[str, Setting], protocol: str) -> None:
    """Raise SettingsError for a SASL or TLS property among those of -X that the security protocol does not use.

    A flag must have an effect; a property of a file may be for other programs.
    """
    for key, setting in flag_settings.items():
        if has_effect(key, protocol):
            continue
        ways = "SASL_SSL or SASL_PLAINTEXT"
        if key.startswith("ssl."):
            ways = "SASL_SSL" if protocol.startswith("SASL_") else "SSL or SASL_SSL"
        msg = f"{setting.source} has no effect with security.protocol={protocol}; set security.protocol to {ways}"
        raise SettingsError(msg)


def has_effect(key: str, protocol: str) -> bool:
    """Return whether a security protocol uses a property."""
    if key.startswith("sasl."):
        return protocol.startswith("SASL_")
    return not key.startswith("ssl.") or protocol.endswith("SSL")


def to_settings(pairs: Iterable[tuple[str, str]], *, source: str, origin: str = "") -> dict[str, Setting]:
    """Return pairs as settings by canonical name; `source` is the place that they come from, without the key.

    `origin` is the file of the pairs, or FLAG. The last pair of a name wins, whatever its spelling.
    Values are trimmed as Kafka's own clients do. A `sasl.jaas.config` also gives the properties that its options
    stand for, such as `sasl.username`, unless the pairs have them.
    Raises SettingsError for `enable.ssl.certificate.verification=false`.
    """
    settings: dict[str, Setting] = {}
    for key, text in pairs:
        name = canonical_name(key)
        value = trim(text)
        if name == "enable.ssl.certificate.verification" and value.lower() in _FALSE:
            msg = f"{source}{key}={value} is not supported; set ssl.ca.location to the CA of the brokers instead"
            raise SettingsError(msg)
        settings[name] = Setting(value, f"{source}{key}", origin=origin)
    return with_jaas_credentials(settings) if "sasl.jaas.config" in settings else settings


def with_jaas_credentials(settings: Mapping[str, Setting]) -> dict[str, Setting]:
    """Return the settings of one source with the properties of its JAAS text, such as the user, unless it has them."""
    # Imported here, as most commands have no JAAS text.
    from kafka_groups.settings.jaas import parse_jaas

    # Done for each source, so that these properties have the precedence of their source.
    jaas = settings["sasl.jaas.config"]
    derived = {name: jaas._replace(value=value) for name, value in parse_jaas(jaas.value).to_properties().items()}
    return {**derived, **settings}


def trim(text: str) -> str:
    """Return a value as Kafka's own clients trim it."""
    return text.strip(_TRIMMED)
