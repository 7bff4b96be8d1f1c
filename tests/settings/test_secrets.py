"""Secrets: no repr and no error shows a value that may be secret, whatever source it comes from."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

import kafka_groups.settings
from kafka_groups.errors import SettingsError
from kafka_groups.options.connection import Connection
from kafka_groups.settings import PasswordCredentials, resolve_settings
from kafka_groups.settings.jaas import Jaas, parse_jaas
from kafka_groups.settings.librdkafka import resolve_client
from kafka_groups.settings.pairs import Setting, parse_network_pairs, parse_pairs
from kafka_groups.settings.properties import PROPERTIES
from kafka_groups.settings.sources import MergedSettings, Sources, merge_sources

SECRET = "hidden-thing"
JAAS = f'org.apache.kafka.common.security.plain.PlainLoginModule required username="me" password="{SECRET}";'
PEM = "".join(f"-----BEGIN {kind}----- {SECRET} -----END {kind}----- " for kind in ("CERTIFICATE", "PRIVATE KEY"))
PEM_KEYS = ("ssl.truststore.certificates", "ssl.keystore.certificate.chain", "ssl.keystore.key")
# Of no use to librdkafka, which gets the content of stores.
STORE_PASSWORDS = ("ssl.keystore.password", "ssl.truststore.password")
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
    assert settings.credentials == PasswordCredentials(mechanism="PLAIN", username="me", password=SECRET)
    assert settings.tls is not None
    assert settings.tls.key_password == SECRET
    for root in (settings, settings.credentials, settings.tls):
        assert_hidden(root)


@EVERY_SOURCE
def test_no_repr_of_tls_settings_shows_pem_text(source: str, tmp_path: Path) -> None:
    pairs = {"security.protocol": "SSL"} | dict.fromkeys(PEM_KEYS, PEM)
    settings = resolve_settings(**sources_of(source, pairs, tmp_path))
    assert settings.tls is not None
    for text in (settings.tls.ca_pem, settings.tls.certificate_pem, settings.tls.key_pem):
        assert SECRET in str(text)
    assert_hidden(settings)
    assert_hidden(settings.tls)


def test_every_own_class_of_the_settings_hides_its_secrets() -> None:
    """A field that may hold a secret has a name of this list, or its class has a repr of its own."""
    secret = re.compile(
        r"password|passphrase|secret|pem$|options|value|text|properties|headers|body|url$|words|authorization"
    )
    shown = []
    for module in pkgutil.walk_packages(kafka_groups.settings.__path__, "kafka_groups.settings."):
        for each in vars(importlib.import_module(module.name)).values():
            if not isinstance(each, type) or not each.__module__.startswith("kafka_groups.settings."):
                continue
            if is_dataclass(each):
                shown += [
                    f"{each.__name__}.{field.name}"
                    for field in fields(each)
                    if field.repr and secret.search(field.name)
                ]
            elif issubclass(each, tuple) and "__repr__" not in vars(each):
                shown += [f"{each.__name__}.{name}" for name in getattr(each, "_fields", ()) if secret.search(name)]
    assert shown == []


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
    value = {"sasl.jaas.config": JAAS, **dict.fromkeys(PEM_KEYS, PEM)}.get(key, SECRET)
    others = {
        name: other for name, other in PLAIN.items() if key != "ssl.keystore.certificate.chain" or "ssl" not in name
    }
    sources = sources_of(source, others | {key: value}, tmp_path)
    client = resolve_client(**sources)
    if key in STORE_PASSWORDS:
        assert SECRET not in client.properties.values()
    else:
        assert_hidden(client)
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
        ("sasl.mechanism", "CRAM-MD5"),
        ("client.id", "x" * 40_000),
        ("ssl.enabled.protocols", "JKS"),
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


def test_every_property_that_may_hold_a_secret_is_marked() -> None:
    marked = {each.name for each in PROPERTIES if each.is_secret}
    assert {each.name for each in PROPERTIES if re.search(r"password|secret|jaas|keystore\.key", each.name)} <= marked
    # A shell command, free text for a callback, and PEM text that may hold a key.
    assert {
        "sasl.kerberos.kinit.cmd",
        "sasl.oauthbearer.config",
        "ssl.keystore.certificate.chain",
        "ssl.truststore.certificates",
    } <= marked
