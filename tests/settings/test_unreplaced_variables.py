"""Variables that no config provider replaced: errors of their settings show them as written, and have a next step."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_groups.errors import SettingsError
from kafka_groups.settings.librdkafka import resolve_client
from tests.settings.resolution import resolve, write_file

PROVIDER = (
    "config.providers=ENV\nconfig.providers.ENV.class=org.apache.kafka.common.config.provider.EnvVarConfigProvider\n"
)
SSL = "security.protocol=SSL\n"
SASL = "security.protocol=SASL_SSL\nsasl.username=me\nsasl.password=p\n"
HINT = "; no config provider replaced its variable ${…}; check config.providers"


def error_of(tmp_path: Path, text: str) -> str:
    with pytest.raises(SettingsError) as caught:
        resolve(config=write_file(tmp_path, text))
    return str(caught.value)


@pytest.mark.parametrize("declared", [PROVIDER, ""], ids=["declared", "not declared"])
@pytest.mark.parametrize(
    ("others", "key"),
    [
        ("", "security.protocol"),
        ("", "client.dns.lookup"),
        ("", "socket.connection.setup.timeout.ms"),
        (SASL, "sasl.mechanism"),
    ],
)
def test_a_setting_with_a_variable_is_shown_as_written_with_the_next_step(
    tmp_path: Path, declared: str, others: str, key: str
) -> None:
    text = error_of(tmp_path, f"{declared}bootstrap.servers=b:1\n{others}{key}=${{ENV:NoProto}}\n")
    assert f"{key}=${{ENV:NoProto}} is " in text
    assert text.endswith(HINT)


def test_servers_with_a_variable_have_the_next_step(tmp_path: Path) -> None:
    text = error_of(tmp_path, f"{PROVIDER}bootstrap.servers=${{ENV:Servers}}\n")
    assert "'${ENV:Servers}' is not a bootstrap server; write host:port" in text
    assert text.endswith(HINT)


@pytest.mark.parametrize("value", ["Tls", "${PROTO}"])
def test_another_unknown_protocol_is_shown_as_written_without_a_hint(tmp_path: Path, value: str) -> None:
    text = error_of(tmp_path, f"bootstrap.servers=b:1\nsecurity.protocol={value}\n")
    assert text.endswith(f"security.protocol={value} is unknown; write PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL")


@pytest.mark.parametrize("value", ["Tls", "${ENV:NoProto}"])
def test_the_client_of_the_pipeline_refuses_the_same_protocols(tmp_path: Path, value: str) -> None:
    text = f"bootstrap.servers=b:1\nsecurity.protocol={value}\n"
    with pytest.raises(SettingsError) as caught:
        resolve_client(environment={}, config=write_file(tmp_path, text))
    assert str(caught.value) == error_of(tmp_path, text)
