"""The handshake: its requests with and without SASL, and the responses of brokers to them."""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import Any

import pytest
from scramp import ScramMechanism

from kafka_groups.admin.network.handshake import Handshake, HandshakeRequest
from kafka_groups.errors import AdminError, AuthenticationFailedError, MalformedResponseError, UnsupportedVersionError
from kafka_groups.protocol.messages import API_VERSIONS, SASL_AUTHENTICATE, SASL_HANDSHAKE
from kafka_groups.settings import PasswordCredentials
from tests.fakes.scripted_broker import encode_response

OFFERED = [(17, 0, 1), (36, 0, 2), (3, 0, 13)]
PLAIN = PasswordCredentials(mechanism="PLAIN", username="mé", password="geheim,=")
SCRAM = PasswordCredentials(mechanism="SCRAM-SHA-256", username="a,b=c", password="geheim")


def responded(handshake: Handshake, request: HandshakeRequest, **values: Any) -> HandshakeRequest | None:
    """Return the request that follows this response."""
    return handshake.next_request(request, b"\0\0\0\0" + encode_response(request.api, request.version, values))


def begun(
    credentials: PasswordCredentials | None, offered: list[tuple[int, int, int]] = OFFERED
) -> tuple[Handshake, HandshakeRequest | None]:
    handshake = Handshake("me", credentials)
    keys = [dict(zip(("api_key", "min_version", "max_version"), each, strict=True)) for each in offered]
    return handshake, responded(handshake, handshake.first_request(), api_keys=keys)


def accepted(
    credentials: PasswordCredentials, offered: list[tuple[int, int, int]] = OFFERED
) -> tuple[Handshake, HandshakeRequest]:
    """Return a handshake up to the first message of the mechanism."""
    handshake, request = begun(credentials, offered)
    assert request is not None
    first = responded(handshake, request, mechanisms=["PLAIN"])
    assert first is not None
    return handshake, first


def refusal(handshake: Handshake, request: HandshakeRequest | None, kind: type[AdminError], **values: Any) -> str:
    assert request is not None
    with pytest.raises(kind) as caught:
        responded(handshake, request, **values)
    assert "geheim" not in str(caught.value)
    return str(caught.value)


def test_without_credentials_the_handshake_is_api_versions_alone() -> None:
    handshake, request = begun(None)
    assert (request, handshake.versions) == (None, {17: (0, 1), 36: (0, 2), 3: (0, 13)})


def test_plain_sends_user_and_password_in_one_message() -> None:
    handshake, request = begun(PLAIN)
    assert request == HandshakeRequest(SASL_HANDSHAKE, 1, {"mechanism": "PLAIN"})
    message = responded(handshake, request, mechanisms=["GSSAPI", "PLAIN"])
    assert message == HandshakeRequest(SASL_AUTHENTICATE, 2, {"auth_bytes": "\0mé\0geheim,=".encode()})
    assert responded(handshake, message, auth_bytes=b"", session_lifetime_ms=90_500) is None


@pytest.mark.parametrize(("newest", "used"), [(0, 0), (1, 1), (5, 2)])
def test_authentication_uses_the_newest_version_of_both_sides(newest: int, used: int) -> None:
    handshake, request = accepted(PLAIN, [(17, 0, 1), (36, 0, newest)])
    assert (request.api, request.version) == (SASL_AUTHENTICATE, used)
    assert responded(handshake, request, auth_bytes=b"") is None


def test_a_broker_without_sasl_authenticate_is_unsupported() -> None:
    handshake, request = begun(PLAIN, [(17, 0, 1)])
    assert refusal(handshake, request, UnsupportedVersionError, mechanisms=["PLAIN"]) == (
        "the broker does not support SaslAuthenticate; this tool needs version 0 to 2"
    )


def scram_server() -> Any:
    """Return a broker's side of SCRAM, which stores only a salted hash of the password."""
    mechanism = ScramMechanism("SCRAM-SHA-256")
    stored = mechanism.make_auth_info("geheim", iteration_count=4096)
    users = {"a,b=c": stored}
    return mechanism.make_server(users.__getitem__)


def test_scram_proves_on_both_sides_that_they_know_the_password_and_never_sends_it() -> None:
    handshake, request = accepted(SCRAM)
    server = scram_server()
    server.set_client_first(request.body["auth_bytes"].decode())
    second = responded(handshake, request, auth_bytes=server.get_server_first().encode())
    assert second is not None
    server.set_client_final(second.body["auth_bytes"].decode())
    assert responded(handshake, second, auth_bytes=server.get_server_final().encode()) is None
    assert all(b"geheim" not in each.body["auth_bytes"] for each in (request, second))


def test_a_broker_that_does_not_know_the_password_is_refused() -> None:
    handshake, request = accepted(SCRAM)
    server = scram_server()
    server.set_client_first(request.body["auth_bytes"].decode())
    second = responded(handshake, request, auth_bytes=server.get_server_first().encode())
    forged = b"v=" + base64.b64encode(bytes(32))
    message = refusal(handshake, second, AuthenticationFailedError, auth_bytes=forged)
    assert message.startswith("the broker did not prove that it knows the password: ")


@pytest.mark.parametrize("challenge", [b"", b"\xff", b"r=other,s=QQ==,i=4096", b"r=,s=,i=1", b"e=other-error"])
def test_a_challenge_that_is_not_scram_is_refused(challenge: bytes) -> None:
    handshake, request = accepted(SCRAM)
    assert refusal(handshake, request, AuthenticationFailedError, auth_bytes=challenge)


USER_STEP = "check sasl.username and sasl.password"
LOG_STEP = "the log of the broker has the reason"


@pytest.mark.parametrize(
    ("challenge", "text"),
    [
        (b"e=other-error", f"other-error; {LOG_STEP}"),
        (b"e=unknown-user,m=x", f"unknown-user; {USER_STEP}"),
        (b"e=invalid-proof", f"invalid-proof; {USER_STEP}"),
        (b"e=", f"it returned no reason; {LOG_STEP}"),
    ],
)
@pytest.mark.parametrize("is_last", [False, True])
def test_an_error_of_the_scram_server_is_reported_with_the_next_step(
    challenge: bytes, text: str, is_last: bool
) -> None:
    handshake, request = accepted(SCRAM)
    if is_last:
        server = scram_server()
        server.set_client_first(request.body["auth_bytes"].decode())
        following = responded(handshake, request, auth_bytes=server.get_server_first().encode())
        assert following is not None
        request = following
    error = refusal(handshake, request, AuthenticationFailedError, auth_bytes=challenge)
    assert error == f"the broker refused the SCRAM authentication: {text}"


@pytest.mark.parametrize("iterations", ["2000000000", "1000001", "2_000_000_000", "+3000000", "-1", "", "4096x"])
def test_a_broker_cannot_make_the_client_hash_for_hours(iterations: str) -> None:
    handshake, request = accepted(SCRAM)
    server = scram_server()
    server.set_client_first(request.body["auth_bytes"].decode())
    challenge = server.get_server_first().replace("i=4096", f"i={iterations}").encode()
    assert refusal(handshake, request, AuthenticationFailedError, auth_bytes=challenge) == (
        "the broker returned no valid SCRAM iteration count, or one above 1,000,000"
    )


@pytest.mark.parametrize(
    "text", ["geheim\u0007", "geheim\U0001f600", "e\u0301", "\ufb01", "a\u00a0b", "x\u00ad", "²,=é"]
)
@pytest.mark.parametrize("is_user", [True, False], ids=["user", "password"])
def test_scram_uses_the_bytes_of_a_user_and_a_password_as_kafka_does(text: str, is_user: bool) -> None:
    user, password = (text, "geheim") if is_user else ("me", text)
    handshake, request = accepted(PasswordCredentials(mechanism="SCRAM-SHA-256", username=user, password=password))
    escaped = user.replace("=", "=3D").replace(",", "=2C")
    first = request.body["auth_bytes"].decode()
    assert first.startswith(f"n,,n={escaped},r=")
    server_first = first.removeprefix(f"n,,n={escaped},") + "-server,s=c2FsdHNhbHRzYWx0,i=4096"
    second = responded(handshake, request, auth_bytes=server_first.encode())
    assert second is not None
    assert second.body["auth_bytes"].decode().rpartition(",p=")[2] == scram_proof(first, server_first, password)


def scram_proof(first: str, server_first: str, password: str) -> str:
    """Return the proof of RFC 5802 for SCRAM-SHA-256, with the bytes of the password."""

    def sign(key: bytes, text: str) -> bytes:
        return hmac.digest(key, text.encode(), "sha256")

    client_key = sign(hashlib.pbkdf2_hmac("sha256", password.encode(), b"saltsaltsalt", 4096), "Client Key")
    nonce = server_first.partition(",")[0]
    signature = sign(hashlib.sha256(client_key).digest(), f"{first.removeprefix('n,,')},{server_first},c=biws,{nonce}")
    return base64.b64encode(bytes(a ^ b for a, b in zip(client_key, signature, strict=True))).decode()


def test_a_delegation_token_is_announced_by_an_extension_that_the_proof_covers() -> None:
    credentials = PasswordCredentials(
        mechanism="SCRAM-SHA-256", username="token-id", password="hmac==", is_delegation_token=True
    )
    handshake, request = accepted(credentials)
    first = request.body["auth_bytes"].decode()
    assert first.startswith("n,,n=token-id,r=")
    assert first.endswith(",tokenauth=true")
    nonce = first.removeprefix("n,,n=token-id,").removesuffix(",tokenauth=true")
    server_first = f"{nonce}-server,s=c2FsdHNhbHRzYWx0,i=4096"
    second = responded(handshake, request, auth_bytes=server_first.encode())
    assert second is not None
    assert second.body["auth_bytes"].decode().rpartition(",p=")[2] == scram_proof(first, server_first, "hmac==")


def test_no_repr_of_a_handshake_shows_the_password() -> None:
    for credentials in (PLAIN, SCRAM):
        handshake, request = accepted(credentials)
        shown = repr([handshake, vars(handshake), request, vars(handshake._sasl_client)])
        assert "geheim" not in shown


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"error_code": 33, "mechanisms": ["GSSAPI", "OAUTHBEARER"]},
            (
                "the broker does not support the SASL mechanism PLAIN; "
                "set sasl.mechanism to one that it supports: GSSAPI, OAUTHBEARER"
            ),
        ),
        (
            {"error_code": 33, "mechanisms": []},
            "the broker does not support the SASL mechanism PLAIN; it names no other",
        ),
        (
            {"error_code": 34, "mechanisms": []},
            "this listener does not use SASL: use PLAINTEXT or SSL, or connect to a SASL listener",
        ),
        ({"error_code": 77, "mechanisms": []}, "the broker refused the SaslHandshake request (error 77)"),
    ],
)
def test_an_authentication_that_cannot_start_is_reported_with_the_reason(values: dict[str, Any], message: str) -> None:
    handshake, request = begun(PLAIN)
    assert refusal(handshake, request, AuthenticationFailedError, **values) == message


@pytest.mark.parametrize(
    ("message", "reason"), [("Invalid username or password", "Invalid username"), (None, "error 58")]
)
def test_a_refused_authentication_is_reported_with_user_and_reason(message: str | None, reason: str) -> None:
    handshake, request = accepted(PLAIN)
    text = refusal(handshake, request, AuthenticationFailedError, error_code=58, error_message=message, auth_bytes=b"")
    assert text.startswith(f"authentication failed for user 'mé' with PLAIN: {reason}")
    assert text.endswith("; check sasl.username and sasl.password")


def test_a_response_that_cannot_be_read_is_reported_with_its_api() -> None:
    handshake, request = begun(PLAIN)
    assert request is not None
    with pytest.raises(MalformedResponseError, match="cannot read the SaslHandshake response"):
        handshake.next_request(request, b"\0\0\0\0\0")


def test_api_versions_is_sent_again_in_version_0_to_an_old_broker() -> None:
    handshake = Handshake("me")
    request = handshake.first_request()
    refused = b"\0\0\0\0" + encode_response(API_VERSIONS, 0, {"error_code": 35, "api_keys": []})
    again = handshake.next_request(request, refused)
    assert again is not None
    assert (again.api, again.version) == (API_VERSIONS, 0)
