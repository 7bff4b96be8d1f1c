"""SASL extensions (KIP-342): pairs that go to the broker with a token, such as Confluent Cloud's logicalCluster."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from kafka_groups.errors import SettingsError
from kafka_groups.settings.jaas import EXTENSION_COMMA
from kafka_groups.settings.pairs import Setting

EXTENSIONS: Final = "sasl.oauthbearer.extensions"
# The grammar of OAuthBearerClientInitialResponse; `auth` is the key of the token itself.
_KEY: Final = re.compile(r"[A-Za-z]+")
_VALUE: Final = re.compile(r"[\x21-\x7E \t\r\n]+")


def parse_extensions(settings: Mapping[str, Setting]) -> dict[str, str]:
    """Return the extensions of `k=v,k=v`, in their order. Raises SettingsError for what brokers would refuse."""
    setting = settings.get(EXTENSIONS)
    if setting is None or not setting.value:
        return {}
    extensions: dict[str, str] = {}
    for pair in setting.value.split(","):
        key, equals, value = (part.strip() for part in pair.replace(EXTENSION_COMMA, ",").partition("="))
        if not equals or not _KEY.fullmatch(key) or key == "auth" or not _VALUE.fullmatch(value):
            shown = f"{setting.source}={setting.value.replace(EXTENSION_COMMA, ',')}"
            msg = f"{shown} is not a list of extensions; write KEY=VALUE,KEY=VALUE"
            raise SettingsError(msg)
        extensions[key] = value
    return extensions
