"""Secrets: no repr and no error shows a value that may be secret, whatever source it comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

from kafka_groups.commands.options import Connection
from kafka_groups.errors import SettingsError
from kafka_groups.settings import SaslCredentials, resolve_settings
from kafka_groups.settings.jaas import Jaas, parse_jaas
from kafka_groups.settings.librdkafka import resolve_client
from kafka_groups.settings.pairs import Setting, parse_network_pairs, parse_pairs
from kafka_groups.settings.properties import PROPERTIES
from kafka_groups.settings.sources import MergedSettings, Sources, merge_sources

SECRET = "hidden-thing"
JAAS = f'org.apache.kafka.common.security.plain.PlainLoginModule required username="me" password="{SECRET}";'
PLAIN = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "ssl.certificate.location": "/me.pem"}
USER = {"sasl.username": "me", "sasl.password": SECRET}
# Each has a password of the network layer's in one of its two spellings.
NETWORK_PAIRS = pytest.mark.parametrize(
    "pairs",
    [PLAIN | USER | {"ssl.key.password": SECRET}, PLAIN | {"sasl.jaas.config": JAAS, "ssl.key.password": SECRET}],
    ids=["librdkafka's", "Java's"],
)
EVERY_SOURCE = pytest.mark.parametrize(
    "source", ["-X", "file", "variable of a file", "profile", "variable of a profile"]
)


def sources_of(source: str, pairs: Mapping[str, str], folder: Path) -> Sources:
    """Return the sources of settings, with the pairs in one of them."""
    config, profiles = folder / "client.properties", folder / "profiles.toml"
    config.write_text("".join(f"{key}={value}\n" for key, value in pairs.items()))
    profiles.write_text("[p]\n" + "".join(f"\"{key}\" = '''{value}'''\n" for key, value in pairs.items()))
    environment: dict[str, str] = {}
    sources: Sources = {"bootstrap": "b:1", "timeout": "5s", "profiles": profiles, "environment": environment}
    if source == "-X":
        sources["properties"] = [f"{key}={value}" for key, value in pairs.items()]
    elif source == "file":
        sources["config"] = str(config)
    elif source == "profile":
        sources["profile"] = "p"
    elif source == "variable of a file":
        environment["KAFKA_GROUPS_CONFIG"] = str(config)
    else:
        environment["KAFKA_GROUPS_PROFILE"] = "p"
    return sources


def reachable(root: Any) -> Iterator[Any]:
    """Yield an object and all that it holds, at any depth."""
    yield root
    if is_dataclass(root):
        parts = [getattr(root, field.name) for field in fields(root)]
    elif isinstance(root, Mapping):
        parts = list(root.values())
    else:
        parts = list(root) if isinstance(root, tuple | list) else []
    for part in parts:
        yield from reachable(part)


def assert_hidden(root: Any) -> None:
    """Fail if the repr of an own object shows the secret, or if no object holds it."""
    found = list(reachable(root))
    own = [each for each in found if type(each).__module__.startswith("kafka_groups.")]
    assert root in own
    assert [repr(each) for each in own if SECRET in repr(each) or SECRET in str(each)] == []
    assert any(SECRET in each for each in found if isinstance(each, str))


@EVERY_SOURCE
@NETWORK_PAIRS
def test_no_repr_of_connection_settings_shows_a_password(source: str, pairs: dict[str, str], tmp_path: Path) -> None:
    settings = resolve_settings(**sources_of(source, pairs, tmp_path))
    assert settings.credentials == SaslCredentials(mechanism="PLAIN", username="me", password=SECRET)
    assert settings.tls is not None
    assert settings.tls.key_password == SECRET
    for root in (settings, settings.credentials, settings.tls):
        assert_hidden(root)


@EVERY_SOURCE
@NETWORK_PAIRS
def test_no_repr_of_merged_settings_shows_a_password(source: str, pairs: dict[str, str], tmp_path: Path) -> None:
    sources = sources_of(source, pairs, tmp_path)
    flag_settings = parse_network_pairs(sources.get("properties", ()))
    merged = merge_sources(flag_settings, sources)
    assert isinstance(merged, MergedSettings)
    assert_hidden(merged)
    assert_hidden(merged.settings["sasl.password"])
    assert SECRET not in repr(flag_settings) + repr(merged.settings)


@EVERY_SOURCE
@pytest.mark.parametrize("key", [each.name for each in PROPERTIES if each.is_secret])
def test_no_repr_of_client_settings_shows_a_secret_property(source: str, key: str, tmp_path: Path) -> None:
    value = JAAS if key == "sasl.jaas.config" else SECRET
    sources = sources_of(source, PLAIN | {key: value}, tmp_path)
    assert_hidden(resolve_client(**sources))
    assert_hidden(merge_sources(parse_pairs(sources.get("properties", ())), sources))


def test_the_repr_of_a_setting_shows_its_source_and_not_its_value() -> None:
    assert repr(Setting(SECRET, "-X sasl.password")) == "Setting(source='-X sasl.password')"
    assert_hidden(Setting(SECRET, "-X sasl.password"))


def test_the_repr_of_a_jaas_text_shows_its_module_and_not_its_options() -> None:
    jaas = parse_jaas(JAAS)
    assert isinstance(jaas, Jaas)
    assert repr(jaas) == "Jaas(module='PlainLoginModule')"
    assert_hidden(jaas)


def test_the_repr_of_connection_options_shows_no_property() -> None:
    properties = (f"sasl.password={SECRET}", f"sasl.jaas.config={JAAS}")
    assert_hidden(Connection(bootstrap_server="b:1", config=None, properties=properties, profile="p", timeout="5s"))


@EVERY_SOURCE
@NETWORK_PAIRS
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("security.protocol", "TLS"),
        ("sasl.mechanism", "GSSAPI"),
        ("client.id", ""),
        ("ssl.keystore.type", "JKS"),
        ("socket.connection.setup.timeout.ms", "soon"),
    ],
)
def test_an_error_of_one_setting_shows_no_secret_of_the_others(
    source: str, pairs: dict[str, str], key: str, value: str, tmp_path: Path
) -> None:
    with pytest.raises(SettingsError) as caught:
        resolve_settings(**sources_of(source, pairs | {key: value}, tmp_path))
    assert key in str(caught.value)
    assert SECRET not in repr(caught.value)


@EVERY_SOURCE
@pytest.mark.parametrize("jaas", [SECRET, f"a.KeyLoginModule required key={SECRET};", JAAS.replace("username", "user")])
def test_an_error_of_a_jaas_text_shows_no_part_of_its_options(source: str, jaas: str, tmp_path: Path) -> None:
    sources = sources_of(source, PLAIN | {"sasl.jaas.config": jaas}, tmp_path)
    for resolve in (resolve_settings, resolve_client):
        with pytest.raises(SettingsError) as caught:
            resolve(**sources)
        assert "sasl.jaas.config: " in str(caught.value)
        assert SECRET not in repr(caught.value)
