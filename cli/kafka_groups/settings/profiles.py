"""The profiles of a user: tables of settings in a TOML file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kafka_groups.errors import SettingsError
from kafka_groups.settings.pairs import Setting, to_settings


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
    import tomllib

    path = path or profiles_file()
    try:
        # A number may be a password: 1.10 is not 1.1.
        document = tomllib.loads(path.read_text(encoding="utf-8-sig"), parse_float=str)
    except FileNotFoundError:
        document = {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        msg = f"the profiles file {path} cannot be read: {error}"
        raise SettingsError(msg) from error
    table = document.get(name)
    if not isinstance(table, dict):
        names = ", ".join(sorted(key for key, value in document.items() if isinstance(value, dict)))
        msg = f"there is no profile '{name}' in {path}; " + (f"it has: {names}" if names else "it has none")
        raise SettingsError(msg)
    return to_settings(_flatten(table).items(), source=f"profile '{name}': ")


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
