"""Secrets that a connection does not need: their commands do not run, and they may have no value."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kafka_groups.errors import ConfigProviderError, SettingsError
from kafka_groups.settings import resolve_settings
from kafka_groups.settings.librdkafka import resolve_client

CLIENT_SECRET = "sasl.oauthbearer.client.credentials.client.secret"
PASSPHRASE = "sasl.oauthbearer.assertion.private.key.passphrase"
KEY = "sasl.oauthbearer.assertion.private.key.pem"
URL = "sasl.oauthbearer.token.endpoint.url"
COMMAND = "sasl.oauthbearer.token.command"
UNSECURED = "enable.sasl.oauthbearer.unsecure.jwt"
HANDLER = "sasl.login.callback.handler.class"
METADATA = "sasl.oauthbearer.metadata.authentication.type"
OAUTH = {"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"}
SECRET = "hidden-thing"


def resolve_both(folder: Path, properties: dict[str, str], commands: dict[str, list[str]]) -> None:
    """Resolve a profile with properties and commands of secrets for both clients."""
    profiles = folder / "profiles.toml"
    pairs = {"bootstrap.servers": "b:1", **properties}
    profiles.write_text(
        "[p]\n"
        + "".join(f"'{key}' = '{value}'\n" for key, value in pairs.items())
        + "".join(f"'{key}.command' = {words!r}\n" for key, words in commands.items())
    )
    profiles.chmod(0o600)
    for resolve in (resolve_settings, resolve_client):
        resolve(profile="p", profiles=profiles, environment={})


@pytest.mark.parametrize("key", [CLIENT_SECRET, PASSPHRASE, KEY])
@pytest.mark.parametrize(
    "source",
    [
        {COMMAND: "t"},
        {URL: "file:///token"},
        {UNSECURED: "true", "sasl.oauthbearer.config": "principal=me"},
        {HANDLER: "com.google.cloud.hosted.kafka.auth.GcpLoginCallbackHandler"},
        {METADATA: "gcp", URL: "http://169.254.169.254/token"},
    ],
    ids=["command", "file", "unsecured", "handler", "metadata"],
)
def test_the_secret_of_a_client_is_for_identity_providers(source: dict[str, str], key: str, tmp_path: Path) -> None:
    resolve_both(tmp_path, {**OAUTH, **source}, {key: ["/no/such/program"]})
    resolve_both(tmp_path, {**OAUTH, **source, key: "${file:/no/such/file}"}, {})


@pytest.mark.parametrize(
    "others",
    [
        {},
        {HANDLER: "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"},
        {UNSECURED: "false", METADATA: "none"},
    ],
)
@pytest.mark.parametrize("key", [CLIENT_SECRET, PASSPHRASE])
def test_an_identity_provider_needs_the_secret_of_a_client(others: dict[str, str], key: str, tmp_path: Path) -> None:
    properties = {**OAUTH, URL: "https://login.example/t", "sasl.oauthbearer.client.id": "c", **others}
    with pytest.raises(ConfigProviderError, match="cannot be started"):
        resolve_both(tmp_path, properties, {key: ["/no/such/program"]})


@pytest.mark.parametrize("store", ["keystore", "truststore"])
def test_the_password_of_a_store_is_needed_with_the_store(store: str, tmp_path: Path) -> None:
    tls = {"security.protocol": "SSL"}
    commands = {f"ssl.{store}.password": ["/no/such/program"]}
    resolve_both(tmp_path, tls, commands)
    with pytest.raises(ConfigProviderError, match="cannot be started"):
        resolve_both(tmp_path, {**tls, f"ssl.{store}.location": "/no/such/store"}, commands)


@pytest.mark.parametrize("variable", ["${env:PROGRAM}", "x ${file:/x} y", "${p:/x:key}", "${vault:path:key}"])
def test_a_command_is_taken_as_written(variable: str, tmp_path: Path) -> None:
    problem = "a command is taken as written; its variable ${…} is not replaced"
    with pytest.raises(SettingsError) as caught:
        resolve_both(tmp_path, {**OAUTH, COMMAND: variable}, {})
    assert str(caught.value).startswith(f"profile 'p': {COMMAND}: {problem}")
    plain = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.username": "me"}
    with pytest.raises(SettingsError) as caught:
        resolve_both(tmp_path, plain, {"sasl.password": variable.split()})
    assert str(caught.value).startswith(f"profile 'p': sasl.password.command: {problem}")


def test_a_provider_does_not_change_the_command_of_a_config_file(tmp_path: Path) -> None:
    other, config = tmp_path / "other", tmp_path / "client.properties"
    other.write_text("program=/bin/echo other\n")
    provider = "org.apache.kafka.common.config.provider.FileConfigProvider"
    config.write_text(
        "bootstrap.servers=b:1\nsecurity.protocol=SASL_SSL\nsasl.mechanism=OAUTHBEARER\nconfig.providers=file\n"
        f"config.providers.file.class={provider}\n{COMMAND}=${{file:{other}:program}}\n"
    )
    config.chmod(0o600)
    with pytest.raises(SettingsError, match="a command is taken as written"):
        resolve_settings(config=str(config), environment={})


def test_a_command_may_have_the_expansions_of_a_shell(tmp_path: Path) -> None:
    words = ["sh", "-c", "echo ${TOKEN:-a} ${TOKEN:+b} ${HOME:0:1} ${HOME}"]
    plain = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.username": "me"}
    resolve_both(tmp_path, plain, {"sasl.password": [sys.executable, "-c", f"print({words[2]!r})"]})


def test_a_command_in_a_properties_file_is_for_profiles(tmp_path: Path) -> None:
    config = tmp_path / "client.properties"
    lines = "bootstrap.servers=b:1\nsecurity.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.username=me\n"
    config.write_text(f"{lines}sasl.password.command=echo {SECRET}\n")
    for resolve in (resolve_settings, resolve_client):
        with pytest.raises(SettingsError) as caught:
            resolve(config=str(config), environment={})
        assert str(caught.value) == (
            f"{config}: sasl.password.command: commands are for profiles alone; "
            "write the command to a profile, or use a config provider"
        )
    # Another source may have the password, and another protocol needs none.
    resolve_settings(
        config=str(config), environment={"KAFKA_GROUPS_SASL_PASSWORD": SECRET}, properties=["sasl.password=x"]
    )
    found = resolve_client(config=str(config), environment={}, properties=["security.protocol=PLAINTEXT"])
    assert "sasl.password" not in found.properties
