"""Variables in the secrets of a profile: `${env:NAME}` and `${file:PATH}`, which need no config provider."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kafka_groups.errors import ConfigProviderError, SettingsError
from kafka_groups.settings.secret_files import SecretFileError, read_limited
from kafka_groups.text_encoding import NotUtf8Error, decode_utf8

PROFILE_VARIABLES: Final = frozenset({"env", "file"})


def look_up(kind: str, name: str, environment: Mapping[str, str]) -> str:
    """Return the value of a variable by its kind, `env` or `file`: a variable of the environment, or a whole file.

    Raises ConfigProviderError if there is no such variable, or if the file cannot be read.
    """
    return _read_file(name) if kind == "file" else _read_variable(name, environment)


def without_newline(text: str) -> str:
    """Return text without one newline at its end, which editors and programs add to a line."""
    return text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text


def _read_variable(name: str, environment: Mapping[str, str]) -> str:
    if name not in environment:
        msg = f"the environment has no variable {name}; set it, or correct ${{env:{name}}}"
        raise ConfigProviderError(msg)
    return environment[name]


def _read_file(name: str) -> str:
    try:
        return without_newline(decode_utf8(read_limited(name)))
    except NotUtf8Error as error:
        msg = f"the file {name} {error}"
        raise SettingsError(msg) from None
    except SecretFileError as error:
        msg = f"the file {name} {error}"
        raise ConfigProviderError(msg) from None
