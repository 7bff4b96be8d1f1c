"""Tokens of a file, of a command, and the unsecured token that this tool makes itself; extensions beside them."""

from __future__ import annotations

import json
import sys
from base64 import urlsafe_b64decode
from pathlib import Path

import pytest

from kafka_groups.settings.tokens.token_command import TokenCommand
from kafka_groups.settings.tokens.token_file import TokenFile
from kafka_groups.settings.tokens.unsecured import UnsecuredToken
from tests.fakes.jwt_tokens import make_key, sign_token
from tests.settings.tokens.token_sources import ENDPOINT, SECRET, credentials_of, failure_of, fetch, settings_error

pytestmark = pytest.mark.timeout(30)
EXTENSIONS = "sasl.oauthbearer.extensions"


def test_a_file_is_read_at_each_fetch_without_its_blanks(tmp_path: Path) -> None:
    path = tmp_path / "token"
    source = TokenFile(str(path))
    assert source.is_read_each_time
    for subject in ("me", "you"):
        path.write_text(f"  {sign_token(make_key(), {'sub': subject, 'exp': 9})}\n\n")
        token = fetch(source)
        assert (token.subject, token.expires_at) == (subject, 9)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "has no token: it is empty"),
        (b" \n", "has no token: it is empty"),
        (b"a token", "has no token: a token has the characters A-Z a-z 0-9 - . _ ~ + / alone, and = at its end"),
        (f'{{"access_token": "{SECRET}"}}'.encode(), "has no token: a token has the characters"),
        (b"\xff\xfe\x00", "has no token: it is not a text file"),
        (None, "cannot be read: No such file or directory; correct the path, or the rights to it"),
    ],
)
def test_a_file_without_a_token_is_named(content: bytes | None, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "token"
    if content is not None:
        path.write_bytes(content)
    assert failure_of(TokenFile(str(path))).startswith(f"the token file {path} {reason}")


@pytest.mark.parametrize(
    "claims",
    ["e30", "!!!!", "bm8", "W10", "eyJleHAiOiAiMSJ9", "eyJleHAiOiAxZTk5OX0", "eyJleHAiOiB0cnVlfQ"],
    ids=["none", "no base64", "no JSON", "a list", "a text", "infinity", "true"],
)
def test_a_token_whose_claims_cannot_be_read_never_expires(claims: str, tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text(f"a.{claims.replace('!', '_')}.c")
    assert fetch(TokenFile(str(path))).expires_at is None


def command(program: str) -> TokenCommand:
    """Return a command that runs a Python program."""
    return TokenCommand((sys.executable, "-c", program), "-X sasl.oauthbearer.token.command")


def test_a_command_prints_the_token() -> None:
    source = command("print(' a.b-c_d~e+f/g== ')")
    assert (fetch(source).text, source.is_read_each_time) == ("a.b-c_d~e+f/g==", False)


def test_a_command_that_fails_is_named_without_its_arguments() -> None:
    program = f"import sys; sys.exit('no login; password={SECRET}')"
    assert failure_of(command(program)) == (
        f"the command '{sys.executable}' of -X sasl.oauthbearer.token.command failed with exit status 1: "
        "no login; password=(hidden)"
    )
    assert SECRET not in repr(command(program))


def test_a_command_that_prints_no_token_is_an_error() -> None:
    lead = f"the command '{sys.executable}' of -X sasl.oauthbearer.token.command has no token: "
    assert failure_of(command("pass")) == f"{lead}it is empty"
    assert failure_of(command(f'print(\'{{"token": "{SECRET}"}}\')')).startswith(f"{lead}a token has the characters")


def test_an_unsecured_token_has_the_claims_and_no_signature() -> None:
    token = fetch(UnsecuredToken("me", ("a", "b"), clock=lambda: 1000.0))
    header, claims, signature = token.text.split(".")
    assert json.loads(urlsafe_b64decode(header + "==")) == {"alg": "none"}
    decoded = json.loads(urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
    assert decoded == {"sub": "me", "iat": 1000.0, "exp": 4600.0, "scope": ["a", "b"]}
    assert (signature, token.subject, token.expires_at) == ("", "me", 4600.0)


def test_an_unsecured_token_without_a_scope_has_no_such_claim() -> None:
    _, claims, _ = fetch(UnsecuredToken("me", clock=lambda: 1000.0)).text.split(".")
    assert "scope" not in json.loads(urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))


def test_extensions_are_pairs_in_their_order() -> None:
    properties = {ENDPOINT: "file:///x", EXTENSIONS: "logicalCluster=lkc-1, identityPoolId = pool-1"}
    extensions = credentials_of(properties).extensions
    assert list(extensions.items()) == [("logicalCluster", "lkc-1"), ("identityPoolId", "pool-1")]
    assert credentials_of({ENDPOINT: "file:///x"}).extensions == {}
    assert credentials_of({ENDPOINT: "file:///x", EXTENSIONS: ""}).extensions == {}


def test_an_extension_of_a_jaas_text_may_have_commas() -> None:
    module = "a.OAuthBearerLoginModule required"
    jaas = f'{module} extension_x="a,b" extension_y="c\\\\" extension_z="d=e,,f\\\\,g=h";'
    credentials = credentials_of({ENDPOINT: "file:///x", "sasl.jaas.config": jaas})
    extensions = {"x": "a,b", "y": "c\\", "z": "d=e,,f\\,g=h"}
    assert credentials.extensions == extensions
    # Another process selects the source again, by these properties.
    assert credentials_of(dict(credentials.properties)).extensions == extensions
    text = settings_error({ENDPOINT: "file:///x", "sasl.jaas.config": f'{module} extension_x1="a,b";'})
    assert text == "sasl.jaas.config=x1=a,b is not a list of extensions; write KEY=VALUE,KEY=VALUE"


@pytest.mark.parametrize("text", ["a", "a=", "=b", "auth=b", "a1=b", "a=b,", "a=b,,c=d", "a=\x01b", "a=é"])
def test_extensions_that_brokers_refuse_are_refused(text: str) -> None:
    assert settings_error({ENDPOINT: "file:///x", EXTENSIONS: text}) == (
        f"{EXTENSIONS}={text} is not a list of extensions; write KEY=VALUE,KEY=VALUE"
    )
