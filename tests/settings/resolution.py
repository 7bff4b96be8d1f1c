"""Settings that the tests resolve without this machine's environment, and the errors of those that cannot be used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafka_groups.errors import SettingsError
from kafka_groups.settings import ConnectionSettings, resolve_settings


def resolve(**sources: Any) -> ConnectionSettings:
    """Return the settings of the given sources."""
    return resolve_settings(**{"environment": {}, **sources})


def error_text(**sources: Any) -> str:
    """Return the text of the error that the sources give; its exit code is that of a usage error."""
    with pytest.raises(SettingsError) as caught:
        resolve(**sources)
    assert caught.value.exit_code == 2
    return str(caught.value)


def hosts(settings: ConnectionSettings) -> list[str]:
    """Return the bootstrap servers as text."""
    return [str(endpoint) for endpoint in settings.bootstrap]


def write_file(folder: Path, text: str, name: str = "client.properties") -> str:
    """Write a file, and return its path."""
    path = folder / name
    path.write_text(text)
    return str(path)
