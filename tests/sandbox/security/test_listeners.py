"""The settings of brokers with users."""

from __future__ import annotations

from pathlib import Path

from kafka_groups.sandbox.configuration import broker_properties, merge_properties
from kafka_groups.sandbox.directory import sandbox_directory
from kafka_groups.sandbox.security.listeners import secure_jvm, secure_properties
from kafka_groups.sandbox.security.secret_files import secret_files
from kafka_groups.sandbox.state_file import Node, SandboxState
from kafka_groups.sandbox.versions import parse_version

NODE = Node(id=1, port=1, controller_port=2, secure_ports={"SASL_PLAINTEXT": 3, "SSL": 4, "SASL_SSL": 5})
STATE = SandboxState(
    kafka_version="4.3.1",
    cluster_id="c",
    java="java",
    jvm=(),
    nodes=(NODE,),
    zookeeper_port=None,
    processes={},
    profile=False,
)
FILES = secret_files(sandbox_directory("mine", home=Path("/home")))


def _settings() -> dict[str, str]:
    plain = broker_properties(STATE, NODE, kafka=parse_version("4.3.1"), data=Path("/data"))
    return merge_properties(plain, secure_properties(NODE, FILES))


def test_the_listeners_with_users_are_beside_those_of_the_sandbox() -> None:
    settings = _settings()

    secure = "SASL_PLAINTEXT://127.0.0.1:3,SSL://127.0.0.1:4,SASL_SSL://127.0.0.1:5"
    assert settings["listeners"] == f"PLAINTEXT://127.0.0.1:1,CONTROLLER://127.0.0.1:2,{secure}"
    assert settings["advertised.listeners"] == f"PLAINTEXT://127.0.0.1:1,{secure}"
    assert settings["listener.security.protocol.map"] == (
        "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,SSL:SSL,SASL_SSL:SASL_SSL"
    )


def test_only_the_listener_without_sasl_requires_a_client_certificate() -> None:
    authentication = {key: value for key, value in _settings().items() if key.endswith("ssl.client.auth")}

    assert authentication == {"listener.name.ssl.ssl.client.auth": "required"}


def test_all_mechanisms_are_on_both_listeners_with_sasl() -> None:
    settings = _settings()
    mechanisms = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"]

    for listener in ("sasl_plaintext", "sasl_ssl"):
        prefix = f"listener.name.{listener}."
        assert settings[f"{prefix}sasl.enabled.mechanisms"].split(",") == mechanisms
        assert all(f"{prefix}{name.lower()}.sasl.jaas.config" in settings for name in mechanisms)


def test_only_anonymous_clients_and_admin_are_super_users() -> None:
    settings = _settings()

    assert settings["super.users"] == "User:ANONYMOUS;User:admin"
    assert "allow.everyone.if.no.acl.found" not in settings


def test_brokers_may_open_the_keys_of_tokens_and_no_other_url() -> None:
    url = "file:///home/mine/security/jwks.json"

    assert _settings()["sasl.oauthbearer.jwks.endpoint.url"] == url
    assert secure_jvm(FILES) == (f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={url}",)
