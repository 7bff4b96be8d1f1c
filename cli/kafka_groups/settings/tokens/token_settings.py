"""Values of the properties that say where tokens come from: texts, switches and numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kafka_groups.errors import SettingsError
from kafka_groups.numerals import hint_of_integer
from kafka_groups.settings.pairs import Setting
from kafka_groups.settings.values import hint_of_variable, is_utf8

ENDPOINT: Final = "sasl.oauthbearer.token.endpoint.url"
_SWITCHES: Final = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False, "": False}
# The largest number of librdkafka's properties.
_LARGEST: Final = 2**31 - 1


def text_of(settings: Mapping[str, Setting], key: str) -> str:
    """Return the value of a property, empty if it is not set. Raises SettingsError if it is not valid UTF-8."""
    if key not in settings:
        return ""
    setting = settings[key]
    if not is_utf8(setting.value):
        msg = f"{setting.source} is not valid UTF-8; write it in UTF-8"
        raise SettingsError(msg)
    return setting.value


def require_text(settings: Mapping[str, Setting], key: str, *, needed_by: str, other_way: str) -> str:
    """Return the value of a property.

    Raises SettingsError if it is not set; `needed_by` names what needs it, and `other_way` the property to set instead.
    """
    value = text_of(settings, key)
    if not value:
        msg = f"{needed_by} needs {key}, which is not set; set it, or {other_way}"
        raise SettingsError(msg)
    return value


def is_enabled(settings: Mapping[str, Setting], key: str) -> bool:
    """Return whether a switch is on. Raises SettingsError for a value that is neither true nor false."""
    enabled = _SWITCHES.get(text_of(settings, key).lower())
    if enabled is None:
        setting = settings[key]
        msg = f"{setting.source}={setting.value} is neither true nor false; write one of them"
        raise SettingsError(msg + hint_of_variable(setting.value))
    return enabled


def number_of(settings: Mapping[str, Setting], key: str, default: int, *, least: int = 0) -> int:
    """Return a whole number. Raises SettingsError for other text, and for a number below `least`."""
    text = text_of(settings, key)
    if not text:
        return default
    digits = text.removeprefix("+")
    # The number of digits is compared first: a text of very many digits takes long to convert.
    is_number = digits.isascii() and digits.isdigit() and len(digits) <= len(str(_LARGEST))
    if not is_number or not least <= int(digits) <= _LARGEST:
        hint = hint_of_integer(text) or f"; write for example {default}"
        msg = f"{settings[key].source}={text} is not a whole number of at least {least}{hint}{hint_of_variable(text)}"
        raise SettingsError(msg)
    return int(digits)


def seconds_of(settings: Mapping[str, Setting], key: str, default_ms: int) -> float:
    """Return the seconds of a property in milliseconds."""
    return number_of(settings, key, default_ms) / 1000


def optional_seconds_of(settings: Mapping[str, Setting], key: str) -> float | None:
    """Return the seconds of a property in milliseconds, None if it is not set."""
    return number_of(settings, key, 10_000, least=1) / 1000 if text_of(settings, key) else None
