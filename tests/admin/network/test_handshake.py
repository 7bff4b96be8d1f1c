"""What is said before the first handler: which turns a login has, and what a broker may answer to them."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from scramp import ScramMechanism

from kafka_groups.admin.network.handshake import Handshake, Turn
from kafka_groups.errors import AdminError, AuthenticationFailedError, MalformedResponseError, UnsupportedVersionError
from kafka_groups.protocol.messages import API_VERSIONS, SASL_AUTHENTICATE, SASL_HANDSHAKE
from kafka_groups.settings import SaslCredentials
from tests.fakes.scripted_broker import encode_answer

OFFERED = [(17, 0, 1), (36, 0, 2), (3, 0, 13)]
PLAIN = SaslCredentials(mechanism="PLAIN", username="mé", password="geheim,=")
SCRAM = SaslCredentials(mechanism="SCRAM-SHA-256", username="a,b=c", password="geheim")


def answered(handshake: Handshake, turn: Turn, **values: Any) -> Turn | None:
    """What is said after this answer."""
    return handshake.after(turn, b"\0\0\0\0" + encode_answer(turn.api, turn.version, values))


def begun(
    login: SaslCredentials | None, offered: list[tuple[int, int, int]] = OFFERED
) -> tuple[Handshake, Turn | None]:
    handshake = Handshake("me", login)
    keys = [dict(zip(("api_key", "min_version", "max_version"), each, strict=True)) for each in offered]
    return handshake, answered(handshake, handshake.first(), api_keys=keys)


def accepted(login: SaslCredentials, offered: list[tuple[int, int, int]] = OFFERED) -> tuple[Handshake, Turn]:
    """Up to the first message of the mechanism."""
    handshake, turn = begun(login, offered)
    assert turn is not None
    said = answered(handshake, turn, mechanisms=["PLAIN"])
    assert said is not None
    return handshake, said


def refusal(handshake: Handshake, turn: Turn | None, kind: type[AdminError], **values: Any) -> str:
    assert turn is not None
    with pytest.raises(kind) as caught:
        answered(handshake, turn, **values)
    assert "geheim" not in str(caught.value)
    return str(caught.value)


def test_without_a_login_versions_are_all() -> None:
    handshake, turn = begun(None)
    assert (turn, handshake.versions) == (None, {17: (0, 1), 36: (0, 2), 3: (0, 13)})


def test_plain_says_user_and_password_in_one_turn() -> None:
    handshake, turn = begun(PLAIN)
    assert turn == Turn(SASL_HANDSHAKE, 1, {"mechanism": "PLAIN"})
    said = answered(handshake, turn, mechanisms=["GSSAPI", "PLAIN"])
    assert said == Turn(SASL_AUTHENTICATE, 2, {"auth_bytes": "\0mé\0geheim,=".encode()})
    assert answered(handshake, said, auth_bytes=b"", session_lifetime_ms=90_500) is None


@pytest.mark.parametrize(("newest", "spoken"), [(0, 0), (1, 1), (5, 2)])
def test_the_login_goes_by_the_newest_version_of_both_sides(newest: int, spoken: int) -> None:
    handshake, turn = accepted(PLAIN, [(17, 0, 1), (36, 0, newest)])
    assert (turn.api, turn.version) == (SASL_AUTHENTICATE, spoken)
    assert answered(handshake, turn, auth_bytes=b"") is None


def test_a_broker_from_before_sasl_authenticate_is_told_by_its_versions() -> None:
    handshake, turn = begun(PLAIN, [(17, 0, 1)])
    assert refusal(handshake, turn, UnsupportedVersionError, mechanisms=["PLAIN"]) == (
        "the broker has no SaslAuthenticate; this tool needs 0 to 2"
    )


def scram_server() -> Any:
    """A broker's side, which knows the user by what it keeps of the password."""
    mechanism = ScramMechanism("SCRAM-SHA-256")
    kept = mechanism.make_auth_info("geheim", iteration_count=4096)
    users = {"a,b=c": kept}
    return mechanism.make_server(users.__getitem__)


def test_scram_shows_that_both_know_the_password_and_tells_it_to_nobody() -> None:
    handshake, turn = accepted(SCRAM)
    server = scram_server()
    server.set_client_first(turn.body["auth_bytes"].decode())
    second = answered(handshake, turn, auth_bytes=server.get_server_first().encode())
    assert second is not None
    server.set_client_final(second.body["auth_bytes"].decode())
    assert answered(handshake, second, auth_bytes=server.get_server_final().encode()) is None
    assert all(b"geheim" not in each.body["auth_bytes"] for each in (turn, second))


def test_a_broker_that_does_not_know_the_password_is_not_believed() -> None:
    handshake, turn = accepted(SCRAM)
    server = scram_server()
    server.set_client_first(turn.body["auth_bytes"].decode())
    second = answered(handshake, turn, auth_bytes=server.get_server_first().encode())
    forged = b"v=" + base64.b64encode(bytes(32))
    told = refusal(handshake, second, AuthenticationFailedError, auth_bytes=forged)
    assert told.startswith("it could not be shown that the broker knows the password, too: ")


@pytest.mark.parametrize("said", [b"", b"\xff", b"r=other,s=QQ==,i=4096", b"r=,s=,i=1", b"e=other-error"])
def test_an_answer_that_is_no_scram_is_refused(said: bytes) -> None:
    handshake, turn = accepted(SCRAM)
    assert refusal(handshake, turn, AuthenticationFailedError, auth_bytes=said)


@pytest.mark.parametrize("rounds", ["2000000000", "1000001", "2_000_000_000", "+3000000", "-1", "", "4096x"])
def test_nobody_makes_us_hash_for_hours(rounds: str) -> None:
    handshake, turn = accepted(SCRAM)
    server = scram_server()
    server.set_client_first(turn.body["auth_bytes"].decode())
    said = server.get_server_first().replace("i=4096", f"i={rounds}").encode()
    assert refusal(handshake, turn, AuthenticationFailedError, auth_bytes=said) == (
        "it does not say how often the password is to be hashed, or more than 1,000,000 times"
    )


@pytest.mark.parametrize("password", ["geheim\u0007", "geheim\U0001f600"])
def test_a_password_that_scram_cannot_say_is_told_without_it(password: str) -> None:
    handshake, turn = begun(SaslCredentials(mechanism="SCRAM-SHA-512", username="me", password=password))
    told = refusal(handshake, turn, AuthenticationFailedError, mechanisms=["SCRAM-SHA-512"])
    assert told.startswith("user or password have characters that SASLprep (RFC 4013) does not allow: ")


def test_of_a_refused_password_that_is_prepared_the_preparation_is_told() -> None:
    handshake, turn = accepted(SaslCredentials(mechanism="SCRAM-SHA-256", username="me", password="geheim²"))
    said = refusal(handshake, turn, AuthenticationFailedError, error_code=58, error_message="no", auth_bytes=b"")
    assert said.endswith("no; SASLprep (RFC 4013) may change a password that is not ASCII")


def test_a_turn_does_not_show_what_it_says() -> None:
    _, turn = accepted(PLAIN)
    assert "geheim" not in repr(turn)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (
            {"error_code": 33, "mechanisms": ["GSSAPI", "OAUTHBEARER"]},
            "it does not take PLAIN, but GSSAPI, OAUTHBEARER",
        ),
        ({"error_code": 34, "mechanisms": []}, "the port wants no login: its security.protocol is PLAINTEXT or SSL"),
        ({"error_code": 77, "mechanisms": []}, "it refused to begin a login (error 77)"),
    ],
)
def test_a_login_that_cannot_begin_says_why(values: dict[str, Any], told: str) -> None:
    handshake, turn = begun(PLAIN)
    assert refusal(handshake, turn, AuthenticationFailedError, **values).startswith(told)


@pytest.mark.parametrize(
    ("message", "told"), [("Invalid username or password", "Invalid username"), (None, "error 58")]
)
def test_a_login_that_is_refused_says_whose_and_why(message: str | None, told: str) -> None:
    handshake, turn = accepted(PLAIN)
    said = refusal(handshake, turn, AuthenticationFailedError, error_code=58, error_message=message, auth_bytes=b"")
    assert said.startswith(f"it refused the login of 'mé' by PLAIN: {told}")


def test_bytes_that_are_no_answer_are_told_by_the_question() -> None:
    handshake, turn = begun(PLAIN)
    assert turn is not None
    with pytest.raises(MalformedResponseError, match="its answer to SaslHandshake cannot be read"):
        handshake.after(turn, b"\0\0\0\0\0")


def test_versions_are_asked_for_once_more_of_a_broker_that_does_not_know_ours() -> None:
    handshake = Handshake("me")
    turn = handshake.first()
    refused = b"\0\0\0\0" + encode_answer(API_VERSIONS, 0, {"error_code": 35, "api_keys": []})
    again = handshake.after(turn, refused)
    assert again is not None
    assert (again.api, again.version) == (API_VERSIONS, 0)
