"""Kafka's config providers (KIP-297): values that are in other files or in the environment, as `${provider:path:key}`.

The classes that Kafka itself has are supported: FileConfigProvider (KIP-421), DirectoryConfigProvider and
EnvVarConfigProvider (KIP-887). Values are replaced as Kafka's ConfigTransformer does: a replaced value is not searched
again, and a variable stays as it is if its provider is not declared, or if the provider has no such key.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Mapping
from io import StringIO
from pathlib import Path
from typing import Final

from kafka_groups.errors import ConfigProviderError, KafkaGroupsError, SettingsError
from kafka_groups.settings.pairs import Setting, trim, with_jaas_credentials
from kafka_groups.settings.profile_variables import PROFILE_VARIABLES, look_up
from kafka_groups.settings.properties import is_secret
from kafka_groups.settings.secret_files import SecretFileError, read_limited
from kafka_groups.text_encoding import NotUtf8Error, decode_utf8

_VARIABLE: Final = re.compile(r"\$\{([^}]*?):(?:([^}]*?):)?([^}]*?)\}")
_LIST: Final = "config.providers"
_PACKAGE: Final = "org.apache.kafka.common.config.provider."
_CLASSES: Final = ("FileConfigProvider", "DirectoryConfigProvider", "EnvVarConfigProvider")
_SUPPORTED: Final = f"{_PACKAGE}{_CLASSES[0]}, …{_CLASSES[1]} or …{_CLASSES[2]}"

# Returns the text of a key at a path, None if there is none.
Provider = Callable[[str, str], str | None]


class ConfigProviders:
    """The config providers that settings declare. They read a file once, and only if a value needs it."""

    def __init__(self, declarations: Mapping[str, Setting], environment: Mapping[str, str]) -> None:
        self._declarations = declarations
        self._environment = environment
        listed = declarations.get(_LIST)
        self._names = {name.strip() for name in listed.value.split(",")} if listed is not None else set()
        self._providers: dict[str, Provider] = {}
        self._files: dict[Path, Mapping[str, str]] = {}

    def replace(self, text: str, *, in_profile: bool = False) -> str:
        """Return a value with the values of its variables; a secret of a profile has those of profiles, too.

        Kafka trims the value; the value of a profile's own variable is used as it is.
        Raises SettingsError for a provider that is not supported or wrongly declared, and for a file with other
        content, and ConfigProviderError for a file, a directory or a profile's variable that cannot be read.
        """
        own = PROFILE_VARIABLES - self._names if in_profile else frozenset()
        replaced = _VARIABLE.sub(lambda match: self._value_of(match, own), text)
        return replaced if any(match[1] in own for match in _VARIABLE.finditer(text)) else trim(replaced)

    def _value_of(self, match: re.Match[str], own: Collection[str]) -> str:
        name = match[1]
        path = match[2] or ""
        key = match[3]
        if name in own:
            return look_up(name, match[0].removeprefix(f"${{{name}:").removesuffix("}"), self._environment)
        if name not in self._names:
            return match[0]
        if name not in self._providers:
            self._providers[name] = self._create(name)
        value = self._providers[name](path, key)
        return match[0] if value is None else value

    def _create(self, name: str) -> Provider:
        declared = self._declarations.get(f"{_LIST}.{name}.class")
        if declared is None:
            lead = f"{self._declarations[_LIST].source} has '{name}', and {_LIST}.{name}.class is not set"
            msg = f"{lead}; set it to {_SUPPORTED}"
            raise SettingsError(msg)
        kind = declared.value.removeprefix(_PACKAGE)
        if kind not in _CLASSES or kind == declared.value:
            msg = f"{declared.source}={declared.value} is not supported; this tool has {_SUPPORTED}"
            raise SettingsError(msg)
        if kind == "EnvVarConfigProvider":
            return self._environment_provider(name)
        allowed = self._allowed_paths(name)
        read = self._read_file if kind == "FileConfigProvider" else _read_directory
        return lambda path, key: _read_allowed(read, Path(path), key, allowed) if path else None

    def _environment_provider(self, name: str) -> Provider:
        pattern = self._declarations.get(f"{_LIST}.{name}.param.allowlist.pattern")
        try:
            allowed = re.compile(pattern.value if pattern is not None else ".*")
        except re.error as error:
            assert pattern is not None
            msg = f"{pattern.source}: '{pattern.value}' is not a regular expression: {error}; correct it"
            raise SettingsError(msg) from None

        def get(path: str, key: str) -> str | None:
            if path:
                msg = f"a variable of the config provider '{name}' has a path; write ${{{name}:NAME}}"
                raise SettingsError(msg)
            return self._environment.get(key) if allowed.fullmatch(key) else None

        return get

    def _allowed_paths(self, name: str) -> tuple[Path, ...] | None:
        setting = self._declarations.get(f"{_LIST}.{name}.param.allowed.paths")
        if setting is None or not setting.value:
            return None
        # Java's split drops empty parts at the end; a list without any other part allows nothing.
        listed = setting.value.rstrip(",")
        paths = [Path(path) for path in listed.split(",")] if listed else []
        for path in paths:
            if not path.is_absolute() or not path.exists():
                problem = "does not exist" if path.is_absolute() else "is not absolute"
                msg = f"{setting.source}: the path {path} {problem}; correct or remove it"
                raise SettingsError(msg)
        return tuple(path.resolve() for path in paths)

    def _read_file(self, path: Path, key: str) -> str | None:
        if path not in self._files:
            self._files[path] = _load_properties(path)
        return self._files[path].get(key)


def _read_allowed(
    read: Callable[[Path, str], str | None], path: Path, key: str, allowed: tuple[Path, ...] | None
) -> str | None:
    if allowed is None:
        return read(path, key)
    # As Kafka's newest versions do: a symbolic link counts as the file that it points to.
    try:
        real = Path(os.path.realpath(path))
    except ValueError as error:
        raise _unreadable("path", path, error) from None
    return read(real, key) if any(real.is_relative_to(each) for each in allowed) else None


def _load_properties(path: Path) -> Mapping[str, str]:
    """Return the properties of a file for FileConfigProvider, which reads UTF-8. Errors repeat none of its text."""
    import javaproperties

    try:
        return javaproperties.load(StringIO(decode_utf8(read_limited(path)), newline=None))
    except javaproperties.InvalidUEscapeError:
        problem = r"a \u is not followed by four hexadecimal digits; write a backslash as \\"
        msg = f"the file {path} of a config provider cannot be used: {problem}"
    except NotUtf8Error as error:
        msg = f"the file {path} of a config provider {error}"
    except SecretFileError as error:
        raise _unusable(path, error) from None
    raise SettingsError(msg)


def _read_directory(path: Path, key: str) -> str | None:
    """Return the content of a file in a directory, None if the directory has no regular file of that name."""
    try:
        # The name is compared, and not joined: it may have a path.
        file = next((each for each in path.iterdir() if each.name == key and each.is_file()), None)
    except (OSError, ValueError) as error:
        raise _unreadable("directory", path, error) from None
    try:
        return None if file is None else decode_utf8(read_limited(file))
    except SecretFileError as error:
        raise _unusable(path / key, error) from None
    except NotUtf8Error as error:
        msg = f"the file {path / key} of a config provider {error}"
        raise SettingsError(msg) from None


def _unusable(path: Path, error: SecretFileError) -> ConfigProviderError:
    return ConfigProviderError(f"the file {path} of a config provider {error}")


def _unreadable(kind: str, path: Path, error: Exception) -> ConfigProviderError:
    reason = (error.strerror if isinstance(error, OSError) else None) or "the path is not valid"
    msg = f"the {kind} {path} of a config provider cannot be read: {reason}; correct the path, or the rights to it"
    return ConfigProviderError(msg)


def replace_variables(
    settings: Mapping[str, Setting],
    providers: ConfigProviders,
    is_used: Callable[[str], bool],
    *,
    of_profile: bool = False,
) -> dict[str, Setting]:
    """Return the settings of one source with the values of variables. A profile has its own in secret properties.

    Only those that `is_used` accepts are looked up: a file may have properties of other programs. A setting whose
    value cannot be looked up has the error as its `problem`, because another source may replace it.
    """
    replaced = {
        name: _replace(setting, providers, in_profile=of_profile and is_secret(name))
        if "${" in setting.value and is_used(name)
        else setting
        for name, setting in settings.items()
    }
    before = settings.get("sasl.jaas.config")
    jaas = replaced.get("sasl.jaas.config")
    if before is None or jaas is None or before == jaas:
        return replaced
    # The properties that were read from the text with variables.
    derived = {name for name, each in replaced.items() if each.source == jaas.source and name != "sasl.jaas.config"}
    without = {name: setting for name, setting in replaced.items() if name not in derived}
    return without if jaas.problem is not None else with_jaas_credentials(without)


def _replace(setting: Setting, providers: ConfigProviders, *, in_profile: bool) -> Setting:
    try:
        value = providers.replace(setting.value, in_profile=in_profile)
    except KafkaGroupsError as error:
        return setting._replace(problem=type(error)(f"{setting.source}: {error}"))
    return setting if value == setting.value else setting._replace(value=value, origin="")
