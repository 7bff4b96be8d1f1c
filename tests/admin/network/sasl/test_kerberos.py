"""GSSAPI on the client's side: the messages of RFC 4752, and what the library's errors mean."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafka_groups.admin.network.sasl.kerberos import KerberosClient, acquire_user, start_context
from kafka_groups.errors import AuthenticationFailedError, ServiceUnknownError, TicketFailedError
from kafka_groups.settings import KerberosCredentials
from tests.fakes.kerberos_library import ALICE, FakeError, FakeLibrary

CACHE = "MEMORY:test"


def client(library: FakeLibrary, host: str = "b1", **credentials: Any) -> KerberosClient:
    user = KerberosCredentials(**credentials)
    return KerberosClient(start_context(library, acquire_user(library, user, cache=CACHE), user, host))


def refusal(client: KerberosClient, *challenges: bytes) -> str:
    for challenge in challenges[:-1]:
        client.evaluate_challenge(challenge)
    with pytest.raises(AuthenticationFailedError) as caught:
        client.evaluate_challenge(challenges[-1])
    return str(caught.value)


def failure(library: FakeLibrary, **credentials: Any) -> str:
    with pytest.raises(TicketFailedError) as caught:
        client(library, **credentials)
    return str(caught.value)


def failing(code: int | None, text: str = "a text.") -> FakeLibrary:
    """Return a library whose KDC gives a ticket for no service."""

    def fail(_service: str) -> None:
        raise FakeError(code, text)

    return FakeLibrary(get_ticket=fail)


def without_credentials(code: int | None, text: str = "a text") -> FakeLibrary:
    def fail(_options: object) -> None:
        raise FakeError(code, text)

    return FakeLibrary(acquire=fail)


@pytest.fixture
def keytab(tmp_path: Path) -> str:
    path = tmp_path / "alice.keytab"
    path.write_bytes(b"\x05\x02")
    return str(path)


def test_the_messages_are_ticket_nothing_and_a_choice_of_no_layer() -> None:
    library = FakeLibrary()
    kerberos = client(library)
    assert kerberos.first_message() == b"ticket for kafka@b1"
    assert kerberos.evaluate_challenge(b"proof") == b""
    # The broker offers all three layers, and messages of 64 KiB.
    assert kerberos.evaluate_challenge(b"W\x07\x01\x00\x00") == b"W\x01\x00\x00\x00" + ALICE.encode()
    assert kerberos.evaluate_challenge(b"") is None


def test_the_target_has_the_service_and_the_host_of_the_broker() -> None:
    library = FakeLibrary()
    client(library, "b2.test", service="events")
    (context,) = library.contexts
    assert (context.host, context.options["mech"], context.options["usage"]) == ("events@b2.test", "krb5", "initiate")
    assert context.options["flags"] == library.RequirementFlag.mutual_authentication


def test_a_keytab_fills_a_cache_in_memory_and_no_keytab_leaves_the_users_own(keytab: str) -> None:
    library = FakeLibrary()
    client(library, principal="alice", keytab=keytab)
    client(library)
    with_keytab, with_cache = library.acquired
    assert with_keytab["store"] == {"client_keytab": keytab, "ccache": CACHE}
    assert with_keytab["name"] == ("alice", "principal")
    assert (with_cache["store"], with_cache["name"]) == (None, None)


@pytest.mark.parametrize("offer", [b"\x02\x00\x00\x00", b"\x06\x00\x10\x00"], ids=["integrity", "privacy"])
def test_a_broker_that_requires_a_layer_is_refused(offer: bytes) -> None:
    assert refusal(client(FakeLibrary()), b"proof", b"W" + offer) == (
        "the broker requires a security layer of Kerberos, which Kafka does not have; use SASL_SSL to encrypt"
    )


@pytest.mark.parametrize("offer", [b"", b"\x01\x00\x00", b"\x01\x00\x00\x00\x00"])
def test_an_offer_of_another_length_is_refused(offer: bytes) -> None:
    text = refusal(client(FakeLibrary()), b"proof", b"W" + offer)
    assert text.startswith(f"the broker returned {len(offer)} bytes where Kerberos has a list of security layers")


@pytest.mark.parametrize("challenges", [[b"wrong"], [b"proof", b"not wrapped"]], ids=["proof", "offer"])
def test_a_broker_without_the_key_of_its_service_is_refused(challenges: list[bytes]) -> None:
    text = refusal(client(FakeLibrary()), *challenges)
    assert text.startswith("the broker did not prove that it has the key of kafka/b1: ")
    assert text.endswith("; check the keytab of the broker")


def test_a_refusal_of_the_broker_names_ticket_clocks_and_keytab() -> None:
    assert client(FakeLibrary()).describe_refusal("it says no") == (
        f"the broker refused the Kerberos ticket of {ALICE} for kafka/b1: it says no; check the clocks of both "
        "machines, and whether the keytab of the broker has the newest key of that service: the log of the broker has "
        "the reason"
    )


@pytest.mark.parametrize(
    ("code", "step"),
    [
        (32, "the Kerberos ticket has expired; run kinit again"),
        (33, "a text; check the clocks of this machine and of the KDC"),
        (37, "differ by more than five minutes; set the clock of this machine"),
        (154, "a text; check default_realm and [realms] of krb5.conf, and KRB5_CONFIG"),
        (156, "a text; check the network, and the address of the KDC in krb5.conf"),
        (99, "a text; set KRB5_TRACE=/dev/stderr to see what the library does"),
        (None, "A major text; set KRB5_TRACE"),
    ],
)
def test_a_service_ticket_that_is_missing_has_a_next_step(code: int | None, step: str) -> None:
    assert step in failure(failing(code))


@pytest.mark.parametrize("name", ["Name", "SecurityContext"])
def test_a_name_or_a_context_that_the_library_refuses_is_an_error(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object, **_options: object) -> None:
        raise FakeError(None)

    library = FakeLibrary()
    monkeypatch.setattr(library, name, refuse)
    assert "A major text; set KRB5_TRACE" in failure(library)


def test_a_service_that_the_kdc_does_not_know_concerns_its_broker_alone() -> None:
    with pytest.raises(ServiceUnknownError, match=r"the service kafka/b1 \(Server not found\); check sasl"):
        client(failing(7, "Server not found"))


@pytest.mark.parametrize("code", [141, 195])
def test_a_user_without_a_ticket_is_pointed_to_kinit(code: int) -> None:
    assert failure(without_credentials(code)) == (
        "there is no Kerberos ticket (a text); run kinit, or set sasl.kerberos.keytab"
    )
    assert "; run kinit bob, or" in failure(without_credentials(code), principal="bob")


@pytest.mark.parametrize(
    ("code", "step"),
    [
        (6, "the KDC does not know the user (a text); check sasl.kerberos.principal and the keytab"),
        (24, "is not the KDC's, which may have a newer one; export the keytab again"),
        (31, "is not the KDC's, which may have a newer one; export the keytab again"),
        (32, "the Kerberos ticket has expired; check the clock of this machine"),
        (141, "has no key of the principal bob; list its principals with klist -k"),
        (195, "has no key of the principal bob; list its principals with klist -k"),
        (156, "a text; check the network"),
    ],
)
def test_a_keytab_that_gives_no_ticket_has_a_next_step(code: int, step: str, keytab: str) -> None:
    assert step in failure(without_credentials(code), principal="bob", keytab=keytab)


@pytest.mark.parametrize("name", ["{}/absent", "FILE:{}/absent", "{}", "a\0b"])
def test_a_keytab_that_cannot_be_read_is_named_with_the_reason(name: str, tmp_path: Path) -> None:
    text = failure(FakeLibrary(), keytab=name.format(tmp_path))
    assert text.startswith(f"the keytab {name.format(tmp_path)} cannot be read: ")
    assert text.endswith("; check sasl.kerberos.keytab and the permissions of the file")


def test_a_keytab_that_is_no_file_is_the_librarys_matter() -> None:
    library = FakeLibrary()
    client(library, keytab="MEMORY:mine")
    assert library.acquired[0]["store"]["client_keytab"] == "MEMORY:mine"


def test_a_library_that_takes_no_keytab_is_reported(keytab: str) -> None:
    def fail(_options: object) -> None:
        raise NotImplementedError

    assert failure(FakeLibrary(acquire=fail), keytab=keytab).startswith(
        "this Kerberos library takes no keytab; run kinit"
    )
