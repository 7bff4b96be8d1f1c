"""KAFKA_GROUPS_SASL_PASSWORD: the password for pods, and what beats it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafka_groups.settings import PasswordCredentials, resolve_settings
from kafka_groups.settings.librdkafka import resolve_client
from tests.settings.resolution import error_text
from tests.settings.secret_profiles import SECRET, write_profile


@pytest.mark.parametrize("flag", [None, "profile", "config"])
def test_the_variable_of_the_password_beats_the_files_of_the_environment(flag: str | None, tmp_path: Path) -> None:
    config = tmp_path / "c"
    config.write_text("bootstrap.servers=b\nsecurity.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.username=me\n")
    with config.open("a") as file:
        file.write("sasl.password=of-file\n")
    profiles = write_profile(tmp_path, "sasl.password.command = 'false'" if flag is None else 'sasl.password = "p"')
    environment = {"KAFKA_GROUPS_SASL_PASSWORD": SECRET}
    given: dict[str, Any] = {"environment": environment, "profiles": profiles}
    if flag is None:
        environment |= {"KAFKA_GROUPS_PROFILE": "p", "KAFKA_GROUPS_CONFIG": str(config)}
    else:
        given[flag] = "p" if flag == "profile" else str(config)
    expected = {None: SECRET, "profile": "p", "config": "of-file"}[flag]
    credentials = resolve_settings(**given).credentials
    assert isinstance(credentials, PasswordCredentials)
    assert credentials.password == resolve_client(**given).properties["sasl.password"] == expected


def test_a_flag_beats_the_variable_of_the_password() -> None:
    pairs = ["security.protocol=SASL_SSL", "sasl.mechanism=PLAIN", "sasl.username=me"]
    environment = {"KAFKA_GROUPS_SASL_PASSWORD": f" {SECRET} "}
    for more, expected in (([], f" {SECRET} "), (["sasl.password=x"], "x")):
        credentials = resolve_settings(bootstrap="b", properties=pairs + more, environment=environment).credentials
        assert credentials == PasswordCredentials(mechanism="PLAIN", username="me", password=expected)


def test_an_empty_variable_of_the_password_is_not_set() -> None:
    pairs = ["security.protocol=SASL_SSL", "sasl.mechanism=PLAIN", "sasl.username=me"]
    text = error_text(bootstrap="b", properties=pairs, environment={"KAFKA_GROUPS_SASL_PASSWORD": ""})
    assert "needs sasl.password, which is not set" in text
