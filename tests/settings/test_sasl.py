"""SASL credentials, from properties as both of Kafka's clients spell them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kafka_groups.settings import ConnectionSettings, PasswordCredentials
from tests.settings import resolution
from tests.settings.resolution import write_file

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
SUPPORTED = "PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER, AWS_MSK_IAM or GSSAPI"
USER = ("sasl.username=me", "sasl.password=hidden-thing")
JAAS = f'sasl.jaas.config={PLAIN} required username="me" password="hidden-thing";'


def resolve(*properties: str, protocol: str = "SASL_SSL", bootstrap: str = "b:1") -> ConnectionSettings:
    """Return the settings of -X properties."""
    return resolution.resolve(bootstrap=bootstrap, properties=[f"security.protocol={protocol}", *properties])


def error_text(*properties: str, protocol: str = "SASL_SSL") -> str:
    """Return the text of the error that the properties give; it never has the password."""
    text = resolution.error_text(bootstrap="b:1", properties=[f"security.protocol={protocol}", *properties])
    assert "hidden-thing" not in text
    return text


@pytest.mark.parametrize(
    ("pair", "mechanism"),
    [
        ("sasl.mechanism=PLAIN", "PLAIN"),
        ("sasl.mechanisms=scram-sha-256", "SCRAM-SHA-256"),
        ("sasl.mechanism=SCRAM-SHA-512", "SCRAM-SHA-512"),
    ],
)
@pytest.mark.parametrize("user", [USER, (JAAS,)], ids=["librdkafka's", "Java's"])
def test_credentials_are_a_mechanism_a_user_and_a_password(pair: str, mechanism: str, user: tuple[str, ...]) -> None:
    expected = PasswordCredentials(mechanism=mechanism, username="me", password="hidden-thing")
    assert resolve(pair, *user).credentials == expected


@pytest.mark.parametrize(
    ("protocol", "is_encrypted"), [("SASL_SSL", True), ("sasl_ssl", True), ("SASL_PLAINTEXT", False)]
)
def test_credentials_are_used_with_tls_or_without(protocol: str, is_encrypted: bool) -> None:
    settings = resolve("sasl.mechanism=PLAIN", *USER, protocol=protocol, bootstrap=f"{protocol}://b:1")
    assert (settings.credentials is not None, settings.tls is not None) == (True, is_encrypted)


@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SSL"])
def test_sasl_properties_of_a_file_are_ignored_if_the_protocol_has_no_sasl(protocol: str, tmp_path: Path) -> None:
    config = write_file(tmp_path, f"bootstrap.servers=b:1\nsasl.mechanism=CRAM-MD5\nsecurity.protocol={protocol}\n")
    assert resolution.resolve(config=config).credentials is None


@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SSL"])
def test_a_sasl_property_of_a_flag_is_rejected_if_the_protocol_has_no_sasl(protocol: str) -> None:
    assert error_text("sasl.mechanism=PLAIN", protocol=protocol) == (
        f"-X sasl.mechanism has no effect with security.protocol={protocol}; "
        "set security.protocol to SASL_SSL or SASL_PLAINTEXT"
    )


def test_sasl_username_takes_precedence_over_a_jaas_text_of_the_same_source() -> None:
    credentials = resolve("sasl.mechanism=PLAIN", JAAS, "sasl.username=you").credentials
    assert credentials == PasswordCredentials(mechanism="PLAIN", username="you", password="hidden-thing")


def test_a_jaas_text_takes_precedence_over_the_user_of_a_lower_source(tmp_path: Path) -> None:
    profiles = tmp_path / "profiles.toml"
    old = '"sasl.username" = "old"\n"sasl.password" = "older"'
    profiles.write_text(f'[p]\n"security.protocol" = "SASL_SSL"\n"sasl.mechanism" = "PLAIN"\n{old}\n')
    settings = resolution.resolve(bootstrap="b:1", profile="p", profiles=profiles, properties=[JAAS])
    assert settings.credentials == PasswordCredentials(mechanism="PLAIN", username="me", password="hidden-thing")


@pytest.mark.parametrize("flag", ["Required", "REQUISITE", "sufficient", "Optional"])
def test_the_control_flag_of_a_jaas_text_is_written_in_any_case(flag: str) -> None:
    credentials = resolve("sasl.mechanism=PLAIN", JAAS.replace("required", flag)).credentials
    assert credentials == PasswordCredentials(mechanism="PLAIN", username="me", password="hidden-thing")


@pytest.mark.parametrize(
    ("written", "password"),
    [
        (r'"a\nb\tc"', "a\nb\tc"),
        (r'"\101\60\400"', "A0 0"),
        (r'"\x\"\\"', 'x"\\'),
        ("'a \"b\"'", 'a "b"'),
        ('"a;b=c d"', "a;b=c d"),
        ("p@ss-1.2", "p@ss-1.2"),
        ("ab/c+d#e==", "ab/c+d#e=="),
        ("#e", "#e"),
        ('"a//b/*c*/#d"', "a//b/*c*/#d"),
    ],
)
def test_a_value_of_a_jaas_text_is_read_as_java_reads_it(written: str, password: str) -> None:
    text = f"sasl.jaas.config={PLAIN} required username=me password={written};"
    credentials = resolve("sasl.mechanism=PLAIN", text).credentials
    assert isinstance(credentials, PasswordCredentials)
    assert credentials.password == password


@pytest.mark.parametrize(
    "text",
    [
        '/* the user */ MODULE required username="me" password="hidden-thing"; // the end',
        "MODULE/**/required/* two\nlines */username=me//the user\n// password=old\r\npassword=hidden-thing;",
        '# ours\nMODULE required\n  username="me"  # of the team\n  password="hidden-thing";\n# the end',
        '\n\tMODULE\n\trequired\n\t"username" = "me"\n\tpassword\n\t=\n\t"hidden-thing"\n;\n',
        'MODULE required username = /* " */ "me" password = // "\n \'hidden-thing\' debug=true ;',
    ],
)
def test_a_jaas_text_may_have_comments_and_line_breaks_between_its_words(text: str, tmp_path: Path) -> None:
    value = text.replace("MODULE", PLAIN)
    expected = PasswordCredentials(mechanism="PLAIN", username="me", password="hidden-thing")
    assert resolve("sasl.mechanism=PLAIN", f"sasl.jaas.config={value}").credentials == expected
    profiles = tmp_path / "profiles.toml"
    profiles.write_bytes(f'[p]\n"sasl.jaas.config" = {json.dumps(value)}\n'.encode())
    given = ["security.protocol=SASL_SSL", "sasl.mechanism=PLAIN"]
    found = resolution.resolve(bootstrap="b:1", profile="p", profiles=profiles, properties=given)
    assert found.credentials == expected


@pytest.mark.parametrize(
    "options",
    [
        'username="me" password="hidden-thing\n";',
        "username=me password=hidden-//thing;",
        'username="me" password="hidden-thing"; /* open',
        'username="me" /* password="hidden-thing";',
        'username="me" password="hidden-thing" // ;',
        'username="me" password="hidden-thing"rest";',
        'username="me" password="hidden-thing"; x.Other required password="hidden-thing";',
        'username="me" password="hidden-thing',
        'debug username="me" password="hidden-thing";',
    ],
)
def test_options_of_a_jaas_text_that_java_does_not_parse_are_rejected(options: str) -> None:
    assert error_text("sasl.mechanism=PLAIN", f"sasl.jaas.config={PLAIN} required {options}") == (
        "-X sasl.jaas.config: the options of PlainLoginModule cannot be parsed; "
        'write them as username="…" password="…";'
    )


@pytest.mark.parametrize(
    ("option", "is_delegation_token"),
    [('tokenauth="true"', True), ("tokenauth=True", True), ("tokenauth=false", False), ("", False)],
)
def test_a_jaas_text_may_have_a_delegation_token(option: str, is_delegation_token: bool) -> None:
    text = f'sasl.jaas.config={SCRAM} required username="id" password="hidden-thing" {option};'
    credentials = resolve("sasl.mechanism=SCRAM-SHA-256", text).credentials
    assert credentials == PasswordCredentials(
        mechanism="SCRAM-SHA-256", username="id", password="hidden-thing", is_delegation_token=is_delegation_token
    )


def test_a_user_of_a_higher_source_is_no_delegation_token(tmp_path: Path) -> None:
    token = f"sasl.jaas.config={SCRAM} required username=id password=hmac tokenauth=true;"
    config = write_file(tmp_path, f"security.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-256\n{token}\n")
    credentials = resolution.resolve(bootstrap="b", config=config).credentials
    assert isinstance(credentials, PasswordCredentials)
    assert credentials.is_delegation_token
    credentials = resolution.resolve(bootstrap="b", config=config, properties=USER).credentials
    assert credentials == PasswordCredentials(mechanism="SCRAM-SHA-256", username="me", password="hidden-thing")


def test_an_option_whose_name_ends_like_another_is_another_option() -> None:
    text = f'sasl.jaas.config={PLAIN} required username="me" password="hidden-thing" old.password="older";'
    credentials = resolve("sasl.mechanism=PLAIN", text).credentials
    assert credentials == PasswordCredentials(mechanism="PLAIN", username="me", password="hidden-thing")


def test_a_jaas_text_without_a_user_does_not_take_the_user_of_a_lower_source(tmp_path: Path) -> None:
    config = write_file(tmp_path, "sasl.username=old\nsasl.password=older\n")
    flags = ["security.protocol=SASL_SSL", "sasl.mechanism=PLAIN"]
    for options in ('password="hidden-thing"', ""):
        jaas = f"sasl.jaas.config={PLAIN} required {options};"
        text = resolution.error_text(bootstrap="b", config=config, properties=[*flags, jaas])
        assert text == "-X sasl.jaas.config: it has no option username; add the option, or set sasl.username"


def test_an_unsupported_login_module_of_a_file_does_not_prevent_credentials_of_flags(tmp_path: Path) -> None:
    config = write_file(tmp_path, "sasl.jaas.config=org.apache.kafka.OAuthBearerLoginModule required;\n")
    typed = ["security.protocol=SASL_SSL", "sasl.mechanism=PLAIN", *USER]
    assert resolution.resolve(bootstrap="b:1", config=config, properties=typed).credentials is not None


def test_a_missing_mechanism_user_or_password_is_named() -> None:
    lead = "-X security.protocol=SASL_SSL needs"
    assert error_text(*USER) == (f"{lead} sasl.mechanism, which is not set; set it to {SUPPORTED}")
    for name, given in zip(("password", "username"), USER, strict=True):
        text = error_text("sasl.mechanism=PLAIN", given)
        assert text == f"{lead} sasl.{name}, which is not set; set sasl.{name} or sasl.jaas.config"
    text = error_text("sasl.mechanism=PLAIN", "sasl.username=", USER[1])
    assert text == f"{lead} sasl.username, which is not set; set sasl.username or sasl.jaas.config"


def test_an_unsupported_mechanism_is_reported_with_the_supported_ones() -> None:
    assert error_text("sasl.mechanism=CRAM-MD5", *USER) == (
        f"-X sasl.mechanism=CRAM-MD5 is not supported; write {SUPPORTED}"
    )


def test_a_password_must_be_utf_8() -> None:
    text = error_text("sasl.mechanism=PLAIN", USER[0], "sasl.password=\udcff")
    assert text == "-X sasl.password is not valid UTF-8; write it in UTF-8"
