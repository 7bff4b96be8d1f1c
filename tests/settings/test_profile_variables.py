"""Secrets of profiles from variables of the environment, and from files."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kafka_groups.settings import PasswordCredentials, resolve_settings
from kafka_groups.settings.librdkafka import resolve_client
from kafka_groups.settings.properties import PROPERTIES, TOKEN_COMMAND
from tests.settings.secret_profiles import PLAIN, SECRET, password_of, problem_of, write_profile


@pytest.mark.parametrize("value", [SECRET, f"  {SECRET}\t", f"{SECRET}\n", "${env:OTHER}", "é"])
def test_a_variable_of_the_environment_gives_a_secret_as_it_is(value: str, tmp_path: Path) -> None:
    environment = {"PASSWORD": value, "OTHER": "not this"}
    assert password_of(tmp_path, 'sasl.password = "${env:PASSWORD}"', environment=environment) == value


@pytest.mark.parametrize(
    ("content", "password"),
    [
        (SECRET, SECRET),
        (f"{SECRET}\n", SECRET),
        (f"{SECRET}\r\n", SECRET),
        (f" {SECRET} \n\n", f" {SECRET} \n"),
        ("a\nb", "a\nb"),
        ("${env:OTHER}", "${env:OTHER}"),
    ],
)
def test_a_file_gives_a_secret_without_one_newline_at_its_end(content: str, password: str, tmp_path: Path) -> None:
    file = tmp_path / "a file: with colons"
    file.write_bytes(content.encode())
    assert password_of(tmp_path, f'sasl.password = "${{file:{file}}}"') == password


@pytest.mark.parametrize(
    "key", sorted(each.name for each in PROPERTIES if each.is_secret and each.network and each.name != TOKEN_COMMAND)
)
def test_every_secret_property_of_a_profile_takes_a_variable(key: str, tmp_path: Path) -> None:
    plain = PLAIN.replace('"PLAIN"', '"OAUTHBEARER"') if key.startswith(("sasl.oauthbearer", "https")) else PLAIN
    if key.startswith("sasl.oauthbearer"):
        plain += 'sasl.oauthbearer.token.endpoint.url = "https://login.example/t"\n'
    elif key in {"ssl.keystore.password", "ssl.truststore.password"}:
        plain += f'{key.replace("password", "location")} = "/store"\n'
    problem = f"profile 'p': {key}: the environment has no variable ABSENT; set it, or correct ${{env:ABSENT}}"
    assert problem_of(tmp_path, f"{key} = '${{env:ABSENT}}'", plain) == problem


@pytest.mark.parametrize("key", ["sasl.username", "client.id"])
def test_a_property_that_is_not_secret_takes_no_variable(key: str, tmp_path: Path) -> None:
    profiles = write_profile(tmp_path, f'{key} = "${{env:ABSENT}}"', 'bootstrap.servers = "b"\n')
    settings = resolve_settings(profile="p", profiles=profiles, environment={})
    assert key == "sasl.username" or settings.client_id == "${env:ABSENT}"


def test_a_config_file_takes_no_variable_without_a_config_provider(tmp_path: Path) -> None:
    config = tmp_path / "c"
    config.write_text(
        "bootstrap.servers=b\nsecurity.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.username=me\n"
        "sasl.password=${env:PASSWORD}\nsasl.password.command=false\n"
    )
    credentials = resolve_settings(config=str(config), environment={"PASSWORD": SECRET}).credentials
    assert isinstance(credentials, PasswordCredentials)
    assert credentials.password == "${env:PASSWORD}"


def test_a_config_provider_named_as_a_variable_of_profiles_has_kafkas_meaning(tmp_path: Path) -> None:
    file = tmp_path / "secrets.properties"
    file.write_text(f"password={SECRET}\n")
    declared = (
        "'config.providers' = 'file'\n"
        "'config.providers.file.class' = 'org.apache.kafka.common.config.provider.FileConfigProvider'\n"
    )
    text = f'{declared}sasl.password = "${{file:{file}:password}}"'
    assert password_of(tmp_path, text) == SECRET
    # The other name is still a variable of profiles.
    assert password_of(tmp_path, f'{declared}sasl.password = "${{env:X}}"', environment={"X": "x"}) == "x"
    # Kafka leaves a variable as it is if the file has no such key.
    assert password_of(tmp_path, f'{declared}sasl.password = "${{file:{file}:other}}"') == f"${{file:{file}:other}}"


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("${file:/no/such/file}", "the file /no/such/file cannot be read: No such file or directory; "),
        ("${file:/}", "the file / cannot be read: Is a directory; "),
        ("${file:}", "the file  cannot be read"),
        ("${env:}", "the environment has no variable ; "),
    ],
)
def test_a_variable_without_a_value_is_an_error_that_names_it(value: str, problem: str, tmp_path: Path) -> None:
    text = problem_of(tmp_path, f'sasl.password = "{value}"')
    assert text.startswith(f"profile 'p': sasl.password: {problem}")


@pytest.mark.parametrize(
    "given",
    [
        {"properties": ["sasl.password=x"]},
        {"properties": ["security.protocol=PLAINTEXT"]},
        {"properties": ["sasl.mechanism=OAUTHBEARER", "sasl.oauthbearer.token.command=t"]},
    ],
    ids=["replaced", "without SASL", "another mechanism"],
)
@pytest.mark.parametrize("line", ['= "${env:ABSENT}"', '= "${file:/no/such}"', '.command = ["/no/such"]'])
def test_a_secret_that_is_not_used_needs_no_value(given: dict[str, Any], line: str, tmp_path: Path) -> None:
    profiles = write_profile(tmp_path, f"sasl.password{line}")
    for resolve in (resolve_settings, resolve_client):
        resolve(profile="p", profiles=profiles, environment={}, **given)


def test_a_jaas_text_of_a_profile_may_have_variables_or_be_one(tmp_path: Path) -> None:
    module = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    plain = PLAIN.replace("sasl.username", "client.id")
    file = tmp_path / "jaas"
    file.write_text(f'{module} username="me" password="{SECRET}";\n')
    program = shlex.join([sys.executable, "-c", f"print(open({str(file)!r}).read())"])
    for text in (
        f"""sasl.jaas.config = '{module} username="${{env:NAME}}" password="${{env:PASSWORD}}";'""",
        f"sasl.jaas.config = '${{file:{file}}}'",
        f"sasl.jaas.config.command = '''{program}'''",
    ):
        profiles = write_profile(tmp_path, text, plain)
        environment = {"NAME": "me", "PASSWORD": SECRET}
        given: Mapping[str, Any] = {"profile": "p", "profiles": profiles, "environment": environment}
        credentials = PasswordCredentials(mechanism="PLAIN", username="me", password=SECRET)
        assert resolve_settings(**given).credentials == credentials
        assert resolve_client(**given).properties["sasl.password"] == SECRET
