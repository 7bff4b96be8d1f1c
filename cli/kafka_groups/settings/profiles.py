"""The profiles of a user: tables of settings in a TOML file.

A secret property may have a command in its place: `sasl.password.command` prints the value of `sasl.password`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from kafka_groups.errors import SettingsError
from kafka_groups.settings.file_access import SettingsFile, read_file, refuse_foreign_writers
from kafka_groups.settings.pairs import Setting, to_settings
from kafka_groups.settings.properties import COMMAND_SUFFIX, TOKEN_COMMAND, canonical_name, secret_of_command
from kafka_groups.suggestions import did_you_mean
from kafka_groups.text_encoding import NotUtf8Error, decode_utf8


def profiles_file() -> Path:
    """Return the path of the user's profiles: a TOML file with one table for each profile.

    Raises SettingsError for a user without a home directory.
    """
    # platformdirs takes some milliseconds to import, and most commands name their broker.
    from platformdirs import user_config_path

    try:
        return user_config_path("kafka-groups") / "profiles.toml"
    except RuntimeError as error:
        msg = "cannot find the profiles file: this user has no home directory; set HOME or XDG_CONFIG_HOME"
        raise SettingsError(msg) from error


def read_profile(name: str, path: Path | None) -> dict[str, Setting]:
    """Return the settings of one profile; `path` None is the user's own file.

    Raises SettingsError if the file cannot be read, or has no such profile. Raises it as well if the profile names a
    command and others can write the file, and for a property that has both a value and a command.
    """
    path = path or profiles_file()
    file = _read(path)
    tables = {} if file is None else _parse_tables(file)
    if file is None or name not in tables:
        raise _unknown_profile(name, path, tables)
    source = f"profile '{name}': "
    pairs = _flatten(tables[name], source)
    commands = {key: secret for key in pairs if (secret := secret_of_command(key)) is not None}
    refuse_foreign_writers(file, [*commands, *(key for key in pairs if key == TOKEN_COMMAND)])
    values = {key: value for key, value in pairs.items() if key not in commands}
    _refuse_both(values, commands, source)
    settings = to_settings(values.items(), source=source, origin=str(path))
    return settings | {secret: Setting("", f"{source}{key}", command=pairs[key]) for key, secret in commands.items()}


def profile_names(path: Path | None = None) -> list[str]:
    """Return the names of the profiles, sorted. Raises SettingsError if the file cannot be read."""
    file = _read(path or profiles_file())
    return [] if file is None else sorted(_parse_tables(file))


def require_profiles(names: Iterable[str], path: Path | None = None) -> None:
    """Raise SettingsError for the first name that is no profile, and if the file cannot be read."""
    path = path or profiles_file()
    known = profile_names(path)
    for name in names:
        if name not in known:
            raise _unknown_profile(name, path, known)


def require_any_profile(path: Path | None = None) -> list[str]:
    """Return the names of all profiles, sorted. Raises SettingsError if there is none."""
    path = path or profiles_file()
    names = profile_names(path)
    if not names:
        msg = f"--all-profiles: there is no profile in {path}; add a table for each cluster"
        raise SettingsError(msg)
    return names


def _unknown_profile(name: str, path: Path, known: Collection[str]) -> SettingsError:
    names = ", ".join(sorted(known))
    where = f"there is no profile '{name}' in {path}"
    # Only --profile takes a list, and it cannot name a profile whose name has a comma.
    hint = _hint_on_commas(name, known) or did_you_mean(name, known)
    return SettingsError(f"{where}; it has: {names}{hint}" if names else f"{where}; it has none")


def _hint_on_commas(name: str, known: Collection[str]) -> str:
    if "," in name:
        return "; KAFKA_GROUPS_PROFILE is one name, and --profile takes several"
    with_comma = next((each for each in sorted(known) if name in each.split(",")[:-1]), None)
    return f"; --profile splits names at commas: rename the profile '{with_comma}'" if with_comma else ""


def _read(path: Path) -> SettingsFile | None:
    try:
        return read_file(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        msg = f"the profiles file {path} cannot be read: {error}"
        raise SettingsError(msg) from error


def _parse_tables(file: SettingsFile) -> dict[str, dict[str, object]]:
    import tomllib

    try:
        # A number may be a password: 1.10 is not 1.1.
        document = tomllib.loads(decode_utf8(file.data), parse_float=str)
    except NotUtf8Error as error:
        msg = f"the profiles file {file.path} cannot be read: it {error}"
        raise SettingsError(msg) from error
    except tomllib.TOMLDecodeError as error:
        msg = f"the profiles file {file.path} cannot be read: {error}"
        raise SettingsError(msg) from error
    return {name: table for name, table in document.items() if isinstance(table, dict)}


def _refuse_both(values: Mapping[str, str], commands: Mapping[str, str], source: str) -> None:
    """Raise SettingsError for two keys that give the same secret, at least one of them a command."""
    keys = {canonical_name(key): key for key in values}
    for key, secret in commands.items():
        if secret in keys:
            msg = f"{source}{keys[secret]} and {source}{key} exclude each other; remove one of them"
            raise SettingsError(msg)
        keys[secret] = key


def _flatten(table: Mapping[str, object], source: str, prefix: str = "") -> dict[str, str]:
    """Return nested tables as one, with dotted keys; booleans become true or false.

    Lists become comma-separated text, those of commands the text that a shell splits into the same words.
    """
    flat: dict[str, str] = {}
    for name, value in table.items():
        key = f"{prefix}{name}"
        if isinstance(value, dict):
            flat.update(_flatten(value, source, f"{key}."))
        elif isinstance(value, list) and key.endswith(COMMAND_SUFFIX):
            flat[key] = _join_words(value, f"{source}{key}")
        elif isinstance(value, list):
            flat[key] = ",".join(str(item) for item in value)
        else:
            flat[key] = str(value).lower() if isinstance(value, bool) else str(value)
    return flat


def _join_words(words: Sequence[object], source: str) -> str:
    import shlex

    if not all(isinstance(word, str) for word in words):
        # The list may have a password, so it is not repeated.
        msg = f"{source}: a word of the command is no text; write each word in quotes"
        raise SettingsError(msg)
    return shlex.join(map(str, words))
