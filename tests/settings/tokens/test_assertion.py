"""Assertions: from a file, and signed with the client's private key; claims, template, and keys that cannot be used."""

from __future__ import annotations

import importlib.util
import json
from base64 import urlsafe_b64decode
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, padding
from cryptography.hazmat.primitives.hashes import SHA256

from kafka_groups.errors import TokenFailedError
from kafka_groups.settings.tokens.assertion import AssertionFile, SignedAssertion
from kafka_groups.settings.tokens.client_credentials import ClientCredentials
from tests.fakes.jwt_tokens import make_key, to_pem
from tests.fakes.token_server import TokenServer, json_answer
from tests.settings.tokens.token_sources import ENDPOINT, SECRET, fetch, settings_error, source_of

PREFIX = "sasl.oauthbearer.assertion."
KEY_FILE = f"{PREFIX}private.key.file"
KEY_PEM = f"{PREFIX}private.key.pem"
URL = {ENDPOINT: "https://login.example/t"}
NOW = 1_000_000.0


@pytest.fixture
def key_file(tmp_path: Path) -> str:
    path = tmp_path / "key.pem"
    path.write_bytes(to_pem(make_key()))
    return str(path)


def parts_of(token: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the header and the claims of a JWT."""
    header, claims, _ = (urlsafe_b64decode(part + "=" * (-len(part) % 4)) for part in token.split("."))
    return json.loads(header), json.loads(claims)


def assertion_of(properties: dict[str, str]) -> Any:
    """Return the assertion that properties name."""
    source = source_of({**URL, **properties})
    assert isinstance(source, ClientCredentials)
    return source.assertion


def failure(assertion: Any) -> str:
    """Return the text of the error of an assertion; it never has the secret."""
    with pytest.raises(TokenFailedError) as caught:
        assertion.create()
    assert SECRET not in repr(caught.value)
    return str(caught.value)


def test_claims_have_the_times_and_what_the_properties_set(key_file: str) -> None:
    claims = {"aud": "https://login.example", "iss": "me", "sub": "you"}
    assertion = SignedAssertion(key_file=key_file, claims=claims, clock=lambda: NOW)
    header, found = parts_of(assertion.create())
    assert header == {"alg": "RS256", "typ": "JWT"}
    assert found == {**claims, "iat": 1_000_000, "exp": 1_000_300, "nbf": 999_940}


def test_properties_set_claims_times_and_the_id(key_file: str) -> None:
    claims = {f"{PREFIX}claim.{name}": name for name in ("aud", "iss", "sub")}
    times = {
        f"{PREFIX}claim.exp.seconds": "60",
        f"{PREFIX}claim.nbf.seconds": "0",
        f"{PREFIX}claim.jti.include": "true",
    }
    assertion = assertion_of({KEY_FILE: key_file, **claims, **times})
    assert (assertion.lifetime_s, assertion.backdated_s) == (60, 0)
    ids = set()
    for _ in range(2):
        _, found = parts_of(assertion.create())
        assert {name: found[name] for name in ("aud", "iss", "sub")} == {"aud": "aud", "iss": "iss", "sub": "sub"}
        assert (found["exp"] - found["iat"], found["nbf"]) == (60, found["iat"])
        ids.add(found["jti"])
    assert len(ids) == 2


def test_a_template_precedes_properties_and_times_precede_the_template(key_file: str, tmp_path: Path) -> None:
    template = tmp_path / "template.json"
    document = {"header": {"kid": "k", "alg": "none"}, "payload": {"iss": "file", "roles": ["a"], "exp": 1}}
    template.write_text(json.dumps(document))
    claims = {"iss": "property", "sub": "me"}
    assertion = SignedAssertion(key_file=key_file, claims=claims, template_file=str(template), clock=lambda: NOW)
    header, found = parts_of(assertion.create())
    assert header == {"kid": "k", "alg": "RS256", "typ": "JWT"}
    assert found == {"iss": "file", "sub": "me", "roles": ["a"], "iat": 1_000_000, "exp": 1_000_300, "nbf": 999_940}


@pytest.mark.parametrize("name", ["template.file", "jwt.template.file"])
def test_a_template_may_be_empty_and_has_two_names(name: str, key_file: str, tmp_path: Path) -> None:
    template = tmp_path / "template.json"
    template.write_text("{}")
    assertion = assertion_of({KEY_FILE: key_file, f"{PREFIX}{name}": str(template)})
    assert parts_of(assertion.create())[0] == {"alg": "RS256", "typ": "JWT"}


@pytest.mark.parametrize("content", ["[]", "no", '{"header": 1}', '{"payload": null}', "[" * 100_000])
def test_a_template_of_another_form_is_an_error(content: str, key_file: str, tmp_path: Path) -> None:
    template = tmp_path / "template.json"
    template.write_text(content)
    assert failure(SignedAssertion(key_file=key_file, template_file=str(template))) == (
        f'the assertion template {template} cannot be used; write JSON: {{"header": {{…}}, "payload": {{…}}}}'
    )


def test_pem_text_may_have_lost_its_line_breaks() -> None:
    key = make_key()
    pem = to_pem(key).decode()
    assertion = assertion_of({KEY_PEM: pem.replace("\n", " ")})
    signed, _, signature = assertion.create().rpartition(".")
    raw = urlsafe_b64decode(signature + "=" * (-len(signature) % 4))
    key.public_key().verify(raw, signed.encode(), padding.PKCS1v15(), SHA256())


@pytest.mark.parametrize("curve", [ec.SECP256R1()])
def test_es256_is_selected_by_its_property(curve: ec.EllipticCurve) -> None:
    pem = to_pem(ec.generate_private_key(curve), passphrase=SECRET).decode()
    passphrase = {f"{PREFIX}private.key.passphrase": SECRET}
    assertion = assertion_of({KEY_PEM: pem, f"{PREFIX}algorithm": "es256", **passphrase})
    assert parts_of(assertion.create())[0]["alg"] == "ES256"
    assert SECRET not in repr(assertion)
    assert failure(assertion_of({KEY_PEM: pem, **passphrase})) == (
        f"the private key of {KEY_PEM} signs by ES256, and not by RS256; set {PREFIX}algorithm"
    )
    assert failure(assertion_of({KEY_PEM: pem})) == (
        f"the private key of {KEY_PEM} is encrypted; set {PREFIX}private.key.passphrase"
    )


def test_a_file_with_an_assertion_precedes_the_key_and_is_read_again(key_file: str, tmp_path: Path) -> None:
    path = tmp_path / "assertion"
    assertion = assertion_of({f"{PREFIX}file": str(path), KEY_FILE: key_file})
    assert assertion == AssertionFile(str(path))
    assert failure(assertion) == (
        f"the assertion file {path} cannot be read: No such file or directory; correct the path, or the rights to it"
    )
    for text in ("a.b.c", "d.e.f"):
        path.write_text(f"{text}\n")
        assert assertion.create() == text
    path.write_text(f"no assertion: {SECRET}")
    assert "has no token" in failure(assertion)


@pytest.mark.parametrize(
    ("content", "reason"),
    [(None, "cannot be read: No such file or directory"), (SECRET, "is no private key in PEM")],
)
def test_a_key_file_that_cannot_be_used_is_named(content: str | None, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    if content is not None:
        path.write_text(content)
    assert failure(SignedAssertion(key_file=str(path))).startswith(f"the private key {path} {reason}")


@pytest.mark.parametrize(
    ("properties", "text"),
    [
        ({KEY_PEM: SECRET}, f"{KEY_PEM} has no private key; write the text of a PEM file"),
        ({KEY_PEM: SECRET, KEY_FILE: "/k"}, f"{KEY_FILE} and {KEY_PEM} exclude each other; remove one of them"),
        (
            {f"{PREFIX}claim.iss": "me"},
            f"{PREFIX}claim.iss needs the private key that signs the assertion; set {KEY_FILE}",
        ),
        (
            {KEY_FILE: "/k", f"{PREFIX}algorithm": "HS256"},
            f"{PREFIX}algorithm=HS256 is not supported; write RS256 or ES256",
        ),
        (
            {KEY_FILE: "/k", f"{PREFIX}claim.exp.seconds": "0"},
            f"{PREFIX}claim.exp.seconds=0 is not a whole number of at least 1; write for example 300",
        ),
    ],
)
def test_settings_of_an_assertion_that_cannot_be_used_are_refused(properties: dict[str, str], text: str) -> None:
    assert settings_error({**URL, **properties}) == text


def test_without_cryptography_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    name = "kafka_groups.settings.tokens.assertion.find_spec"
    monkeypatch.setattr(name, lambda package: None if package == "cryptography" else find(package))
    assert settings_error({**URL, KEY_FILE: "/k"}) == (
        f"{KEY_FILE} needs the package cryptography; run: pip install 'kafka-groups[keys]'"
    )


def test_an_assertion_is_signed_again_for_each_request(key_file: str) -> None:
    with TokenServer() as server:
        server.respond = lambda _request: json_answer({"access_token": "t"})
        include = {f"{PREFIX}claim.jti.include": "true"}
        source = source_of({ENDPOINT: server.url, KEY_FILE: key_file, **include})
        fetch(source)
        fetch(source)
        first, second = (request.form["client_assertion"] for request in server.requests)
        assert parts_of(first)[1]["jti"] != parts_of(second)[1]["jti"]
