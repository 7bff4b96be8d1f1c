"""Connections that are lost during SASL authentication: the error has the step, its likely cause and a next step."""

from __future__ import annotations

import socket
import struct
from pathlib import Path

import pytest

from kafka_groups.admin import GroupAdmin
from kafka_groups.errors import AdminError
from kafka_groups.protocol import Struct
from kafka_groups.protocol.messages import API_VERSIONS
from kafka_groups.settings import ConnectionSettings, PasswordCredentials, resolve_settings
from tests.fakes.raw_port import after_frames, responding
from tests.fakes.reactions import ReceivedRequest, drops
from tests.fakes.scripted_broker import ScriptedBroker, encode_response

pytestmark = pytest.mark.timeout(20)

USER = PasswordCredentials(mechanism="PLAIN", username="me", password="geheim")
STEPS = {
    "SaslHandshake": (
        "closed the connection at the SaslHandshake request; the listener may not use SASL "
        "(-X security.protocol=PLAINTEXT), or not PLAIN (sasl.mechanism)"
    ),
    "SaslAuthenticate": (
        "closed the connection at the SaslAuthenticate request; check sasl.username and sasl.password, and whether "
        "the listener supports PLAIN (sasl.mechanism); the log of the broker has the reason"
    ),
}


def sasl_broker() -> ScriptedBroker:
    def respond(request: ReceivedRequest) -> Struct:
        return {"mechanisms": ["PLAIN"]} if request.api == "SaslHandshake" else {"auth_bytes": b""}

    return ScriptedBroker(respond, versions={"SaslHandshake": (0, 1), "SaslAuthenticate": (0, 2)})


def error_text(settings: ConnectionSettings) -> str:
    with GroupAdmin(settings) as admin, pytest.raises(AdminError) as caught:
        admin.list_groups()
    return str(caught.value)


@pytest.mark.parametrize("api", STEPS)
def test_a_connection_that_is_closed_during_sasl_is_reported_with_the_step(api: str) -> None:
    with sasl_broker() as broker:
        broker.script(api, *[drops] * 9)
        text = error_text(broker.settings(credentials=USER, timeout_s=30.0))
    assert text == f"cannot connect to {broker.endpoint}: {STEPS[api]}"


def test_a_connection_that_is_reset_during_sasl_is_reported_with_the_step() -> None:
    keys = [{"api_key": key, "min_version": 0, "max_version": 1} for key in (17, 36)]
    versions = b"\0\0\0\1" + encode_response(API_VERSIONS, 3, {"api_keys": keys})

    def reset(connection: socket.socket) -> None:
        after_frames((1, struct.pack(">i", len(versions)) + versions), (1, b""))(connection)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()

    with responding(after=0, then=reset) as endpoint:
        text = error_text(ConnectionSettings(bootstrap=(endpoint,), timeout_s=30.0, credentials=USER))
    assert "reset by peer at the SaslHandshake request; the listener may not use SASL (" in text


def test_a_closed_authentication_names_the_properties_of_the_user_and_a_variable_that_was_not_replaced(
    tmp_path: Path,
) -> None:
    file = tmp_path / "client.properties"
    with sasl_broker() as broker:
        broker.script("SaslAuthenticate", *[drops] * 9)
        file.write_text(
            f"bootstrap.servers={broker.endpoint}\nsecurity.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
            "sasl.username=me\nsasl.password=${env:ABSENT}\n"
        )
        text = error_text(resolve_settings(environment={}, config=str(file), timeout="30s"))
    assert f"see sasl.mechanism and sasl.password and sasl.username of {file}" in text
    assert f"; sasl.password of {file} has a variable ${{…}} that no config provider replaced" in text
