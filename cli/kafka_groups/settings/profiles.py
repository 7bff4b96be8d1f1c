"""The profiles of a user: tables of settings in a TOML file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kafka_groups.errors import SettingsError
from kafka_groups.settings.pairs import Setting, to_settings
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

    Raises SettingsError if the file cannot be read, or has no such profile.
    """
    path = path or profiles_file()
    tables = _read_tables(path)
    if name not in tables:
        names = ", ".join(sorted(tables))
        where = f"there is no profile '{name}' in {path}"
        msg = f"{where}; it has: {names}{did_you_mean(name, tables)}" if names else f"{where}; it has none"
        raise SettingsError(msg)
    return to_settings(_flatten(tables[name]).items(), source=f"profile '{name}': ")


def profile_names(path: Path | None = None) -> list[str]:
    """Return the names of the profiles, sorted. Raises SettingsError if the file cannot be read."""
    return sorted(_read_tables(path or profiles_file()))


def _read_tables(path: Path) -> dict[str, dict[str, object]]:
    import tomllib

    try:
        # A number may be a password: 1.10 is not 1.1.
        document = tomllib.loads(decode_utf8(path.read_bytes()), parse_float=str)
    except FileNotFoundError:
        return {}
    except NotUtf8Error as error:
        msg = f"the profiles file {path} cannot be read: it {error}"
        raise SettingsError(msg) from error
    except (OSError, tomllib.TOMLDecodeError) as error:
        msg = f"the profiles file {path} cannot be read: {error}"
        raise SettingsError(msg) from error
    return {name: table for name, table in document.items() if isinstance(table, dict)}


def _flatten(table: Mapping[str, object], prefix: str = "") -> dict[str, str]:
    """Return nested tables as one, with dotted keys; lists become comma-separated text, booleans true or false."""
    flat: dict[str, str] = {}
    for key, value in table.items():
        if isinstance(value, dict):
            flat.update(_flatten(value, f"{prefix}{key}."))
        elif isinstance(value, list):
            flat[prefix + key] = ",".join(str(item) for item in value)
        else:
            flat[prefix + key] = str(value).lower() if isinstance(value, bool) else str(value)
    return flat
