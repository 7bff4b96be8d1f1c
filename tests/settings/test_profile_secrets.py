"""Secrets of profiles: from variables of the environment, from files, and from commands."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kafka_groups.errors import ConfigProviderError
from kafka_groups.settings import PasswordCredentials, TokenCredentials, resolve_settings
from kafka_groups.settings.librdkafka import resolve_client
from kafka_groups.settings.properties import PROPERTIES, TOKEN_COMMAND
from kafka_groups.settings.tokens.token_command import TokenCommand
from tests.settings.resolution import error_text

SECRET = "hidden-thing"
PLAIN = """
bootstrap.servers = "b:1"
security.protocol = "SASL_SSL"
sasl.mechanism = "PLAIN"
sasl.username = "me"
"""
NO_PARTNER = (
    "sasl.password.command: a quotation mark of the command has no partner; write the command as a list of words"
)
PRINT = [sys.executable, "-c", f"print({SECRET!r})"]


def write_profile(folder: Path, text: str, plain: str = PLAIN) -> Path:
    """Write a profiles file that only this user can write, with the profile `p`, and return its path."""
    path = folder / "profiles.toml"
    path.write_text(f"[p]\n{plain}{text}\n")
    path.chmod(0o600)
    return path


def password_of(folder: Path, text: str, **sources: Any) -> str:
    """Return the password of a profile; both clients have the same one, unless librdkafka would drop its blanks."""
    given = {"environment": {}, "profile": "p", "profiles": write_profile(folder, text), **sources}
    credentials = resolve_settings(**given).credentials
    assert isinstance(credentials, PasswordCredentials)
    if not credentials.password.startswith(" "):
        assert resolve_client(**given).properties["sasl.password"] == credentials.password
    return credentials.password


def problem_of(folder: Path, text: str, plain: str = PLAIN, **sources: Any) -> str:
    """Return the text of the error of both clients; its exit code is 1, as for a cluster that cannot be reached."""
    given = {"environment": {}, "profile": "p", "profiles": write_profile(folder, text, plain), **sources}
    texts = []
    for resolve in (resolve_settings, resolve_client):
        with pytest.raises(ConfigProviderError) as caught:
            resolve(**given)
        assert (caught.value.exit_code, caught.value.name) == (1, "CONFIG_PROVIDER_FAILED")
        assert SECRET not in repr(caught.value)
        texts.append(str(caught.value))
    assert texts[0] == texts[1]
    assert "\n" not in texts[0]
    return texts[0]


@pytest.mark.parametrize("value", [SECRET, f"  {SECRET}\t", f"{SECRET}\n", "${env:OTHER}", "é"])
def test_a_variable_of_the_environment_gives_a_secret_as_it_is(value: str, tmp_path: Path) -> None:
    environment = {"PASSWORD": value, "OTHER": "not this"}
    assert password_of(tmp_path, 'sasl.password = "${env:PASSWORD}"', environment=environment) == value


@pytest.mark.parametrize(
    ("content", "password"),
    [
        (SECRET, SECRET),
        (f"{SECRET}\n", SECRET),
        (f"{SECRET}\r\n", SECRET),
        (f" {SECRET} \n\n", f" {SECRET} \n"),
        ("a\nb", "a\nb"),
        ("${env:OTHER}", "${env:OTHER}"),
    ],
)
def test_a_file_gives_a_secret_without_one_newline_at_its_end(content: str, password: str, tmp_path: Path) -> None:
    file = tmp_path / "a file: with colons"
    file.write_bytes(content.encode())
    assert password_of(tmp_path, f'sasl.password = "${{file:{file}}}"') == password


@pytest.mark.parametrize(
    "key", sorted(each.name for each in PROPERTIES if each.is_secret and each.network and each.name != TOKEN_COMMAND)
)
def test_every_secret_property_of_a_profile_takes_a_variable(key: str, tmp_path: Path) -> None:
    plain = PLAIN.replace('"PLAIN"', '"OAUTHBEARER"') if key.startswith(("sasl.oauthbearer", "https")) else PLAIN
    if key.startswith("sasl.oauthbearer"):
        plain += 'sasl.oauthbearer.token.endpoint.url = "https://login.example/t"\n'
    elif key in {"ssl.keystore.password", "ssl.truststore.password"}:
        plain += f'{key.replace("password", "location")} = "/store"\n'
    problem = f"profile 'p': {key}: the environment has no variable ABSENT; set it, or correct ${{env:ABSENT}}"
    assert problem_of(tmp_path, f"{key} = '${{env:ABSENT}}'", plain) == problem


@pytest.mark.parametrize("key", ["sasl.username", "client.id"])
def test_a_property_that_is_not_secret_takes_no_variable(key: str, tmp_path: Path) -> None:
    profiles = write_profile(tmp_path, f'{key} = "${{env:ABSENT}}"', 'bootstrap.servers = "b"\n')
    settings = resolve_settings(profile="p", profiles=profiles, environment={})
    assert key == "sasl.username" or settings.client_id == "${env:ABSENT}"


def test_a_config_file_takes_no_variable_without_a_config_provider(tmp_path: Path) -> None:
    config = tmp_path / "c"
    config.write_text(
        "bootstrap.servers=b\nsecurity.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.username=me\n"
        "sasl.password=${env:PASSWORD}\nsasl.password.command=false\n"
    )
    credentials = resolve_settings(config=str(config), environment={"PASSWORD": SECRET}).credentials
    assert isinstance(credentials, PasswordCredentials)
    assert credentials.password == "${env:PASSWORD}"


def test_a_config_provider_named_as_a_variable_of_profiles_has_kafkas_meaning(tmp_path: Path) -> None:
    file = tmp_path / "secrets.properties"
    file.write_text(f"password={SECRET}\n")
    declared = (
        "'config.providers' = 'file'\n"
        "'config.providers.file.class' = 'org.apache.kafka.common.config.provider.FileConfigProvider'\n"
    )
    text = f'{declared}sasl.password = "${{file:{file}:password}}"'
    assert password_of(tmp_path, text) == SECRET
    # The other name is still a variable of profiles.
    assert password_of(tmp_path, f'{declared}sasl.password = "${{env:X}}"', environment={"X": "x"}) == "x"
    # Kafka leaves a variable as it is if the file has no such key.
    assert password_of(tmp_path, f'{declared}sasl.password = "${{file:{file}:other}}"') == f"${{file:{file}:other}}"


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("${file:/no/such/file}", "the file /no/such/file cannot be read: No such file or directory; "),
        ("${file:/}", "the file / cannot be read: Is a directory; "),
        ("${file:}", "the file  cannot be read"),
        ("${env:}", "the environment has no variable ; "),
    ],
)
def test_a_variable_without_a_value_is_an_error_that_names_it(value: str, problem: str, tmp_path: Path) -> None:
    text = problem_of(tmp_path, f'sasl.password = "{value}"')
    assert text.startswith(f"profile 'p': sasl.password: {problem}")


@pytest.mark.parametrize(
    "given",
    [
        {"properties": ["sasl.password=x"]},
        {"properties": ["security.protocol=PLAINTEXT"]},
        {"properties": ["sasl.mechanism=OAUTHBEARER", "sasl.oauthbearer.token.command=t"]},
    ],
    ids=["replaced", "without SASL", "another mechanism"],
)
@pytest.mark.parametrize("line", ['= "${env:ABSENT}"', '= "${file:/no/such}"', '.command = ["/no/such"]'])
def test_a_secret_that_is_not_used_needs_no_value(given: dict[str, Any], line: str, tmp_path: Path) -> None:
    profiles = write_profile(tmp_path, f"sasl.password{line}")
    for resolve in (resolve_settings, resolve_client):
        resolve(profile="p", profiles=profiles, environment={}, **given)


def test_a_jaas_text_of_a_profile_may_have_variables_or_be_one(tmp_path: Path) -> None:
    module = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    plain = PLAIN.replace("sasl.username", "client.id")
    file = tmp_path / "jaas"
    file.write_text(f'{module} username="me" password="{SECRET}";\n')
    program = shlex.join([sys.executable, "-c", f"print(open({str(file)!r}).read())"])
    for text in (
        f"""sasl.jaas.config = '{module} username="${{env:NAME}}" password="${{env:PASSWORD}}";'""",
        f"sasl.jaas.config = '${{file:{file}}}'",
        f"sasl.jaas.config.command = '''{program}'''",
    ):
        profiles = write_profile(tmp_path, text, plain)
        environment = {"NAME": "me", "PASSWORD": SECRET}
        given: Mapping[str, Any] = {"profile": "p", "profiles": profiles, "environment": environment}
        credentials = PasswordCredentials(mechanism="PLAIN", username="me", password=SECRET)
        assert resolve_settings(**given).credentials == credentials
        assert resolve_client(**given).properties["sasl.password"] == SECRET


@pytest.mark.parametrize(
    "line",
    [
        f"sasl.password.command = {PRINT!r}",
        f'"sasl.password.command" = {PRINT!r}',
        f'"sasl.password".command = {PRINT!r}',
        f"sasl.password.command = '''{shlex.join(PRINT)}'''",
    ],
    ids=["nested", "one key", "half nested", "text"],
)
def test_a_command_of_a_profile_prints_a_secret(line: str, tmp_path: Path) -> None:
    assert password_of(tmp_path, line) == SECRET


def test_a_command_may_stand_under_an_alias_of_the_property(tmp_path: Path) -> None:
    profiles = write_profile(tmp_path, f"sasl.oauthbearer.client.secret.command = {PRINT!r}")
    given = [
        "sasl.mechanism=OAUTHBEARER",
        "sasl.oauthbearer.token.endpoint.url=https://h/t",
        "sasl.oauthbearer.client.id=c",
    ]
    found = resolve_client(profile="p", profiles=profiles, environment={}, properties=given)
    assert found.properties["sasl.oauthbearer.client.credentials.client.secret"] == SECRET


def test_the_words_of_a_command_are_those_of_the_list(tmp_path: Path) -> None:
    words = [sys.executable, "-c", "import sys; print(sys.argv[1:])", "a b", "c,d", "e'f", "", "$HOME", "*"]
    assert password_of(tmp_path, f"sasl.password.command = {toml_list(words)}") == str(words[3:])


def toml_list(words: list[str]) -> str:
    """Return a list of basic strings of TOML."""
    return "[" + ", ".join('"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"' for word in words) + "]"


def test_only_one_newline_at_the_end_of_the_output_is_dropped(tmp_path: Path) -> None:
    text = r"sasl.password.command = ['printf', ' a\n\n']"
    assert password_of(tmp_path, text) == " a\n"


def test_a_command_that_is_not_needed_does_not_run(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    text = f"sasl.password.command = ['touch', '{ran}']\nssl.keystore.key.command = ['touch', '{ran}']"
    plain = PLAIN.replace("SASL_SSL", "SASL_PLAINTEXT")
    profiles = write_profile(tmp_path, text, plain)
    for properties in (["sasl.password=x"], ["security.protocol=PLAINTEXT"]):
        for resolve in (resolve_settings, resolve_client):
            resolve(profile="p", profiles=profiles, environment={}, properties=properties)
    assert not ran.exists()
    assert problem_of(tmp_path, text, plain).endswith("printed nothing; correct it, so that it prints the secret")
    assert ran.exists()


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("exit 3", "failed with exit status 3"),
        (f"echo {SECRET}; echo no key {SECRET} >&2; exit 1", "failed with exit status 1: no key (hidden)"),
        ("echo a; echo password: tiger >&2; exit 1", "failed with exit status 1: password: (hidden)"),
        ("printf '\\377'", "printed bytes that are not UTF-8; let it print text"),
        ("true", "printed nothing; correct it, so that it prints the secret"),
        ("kill -9 $$", "failed with signal 9"),
    ],
)
def test_a_command_that_fails_is_an_error_of_one_line(script: str, problem: str, tmp_path: Path) -> None:
    text = problem_of(tmp_path, f'sasl.password.command = ["sh", "-c", "{script}"]'.replace("\\", "\\\\"))
    assert text == f"profile 'p': sasl.password.command: the command 'sh' {problem}"


def test_a_command_that_cannot_be_started_is_an_error(tmp_path: Path) -> None:
    text = problem_of(tmp_path, 'sasl.password.command = "/no/such --password tiger"')
    assert text == (
        "profile 'p': sasl.password.command: the command '/no/such' cannot be started: No such file or directory"
    )


def test_a_command_has_the_time_of_the_timeout(tmp_path: Path) -> None:
    started = time.monotonic()
    text = problem_of(tmp_path, "sasl.password.command = ['sleep', '60']", timeout="200ms")
    assert text.endswith("the command 'sleep' took too long, and was ended")
    assert time.monotonic() - started < 5


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("sasl.password.command = []", "sasl.password.command is empty; write the command as a list of words"),
        ("sasl.password.command = ''", "sasl.password.command is empty; write the command as a list of words"),
        ("""sasl.password.command = "pass 'kafka" """, NO_PARTNER),
        (
            "sasl.password.command = ['pass', 1]",
            "sasl.password.command: a word of the command is no text; write each word in quotes",
        ),
        (
            "'sasl.password.command' = 'a'\n'sasl.password' = 'b'",
            "sasl.password and profile 'p': sasl.password.command exclude each other; remove one of them",
        ),
        (
            "ssl.key.pem.command = 'a'\nssl.keystore.key = 'b'",
            "ssl.keystore.key and profile 'p': ssl.key.pem.command exclude each other; remove one of them",
        ),
        (
            "ssl.key.pem.command = 'a'\nssl.keystore.key.command = 'b'",
            "ssl.key.pem.command and profile 'p': ssl.keystore.key.command exclude each other; remove one of them",
        ),
    ],
)
def test_a_command_that_is_wrongly_written_is_a_usage_error(text: str, problem: str, tmp_path: Path) -> None:
    assert error_text(profile="p", profiles=write_profile(tmp_path, text)) == f"profile 'p': {problem}"


@pytest.mark.parametrize("words", [["my tool", "a,b"], "'my tool' a,b"])
def test_a_token_command_of_a_profile_is_a_list_or_text(words: list[str] | str, tmp_path: Path) -> None:
    plain = PLAIN.replace("PLAIN", "OAUTHBEARER")
    line = toml_list(words) if isinstance(words, list) else f'"{words}"'
    profiles = write_profile(tmp_path, f"sasl.oauthbearer.token.command = {line}", plain)
    credentials = resolve_settings(profile="p", profiles=profiles, environment={}).credentials
    assert isinstance(credentials, TokenCredentials)
    assert credentials.source == TokenCommand(("my tool", "a,b"), "profile 'p': sasl.oauthbearer.token.command")


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


@pytest.mark.skipif(os.name == "nt", reason="the command is one of Unix")
def test_a_command_of_a_flag_is_not_supported() -> None:
    text = error_text(bootstrap="b", properties=["sasl.password.command=true"])
    assert text.startswith("-X sasl.password.command: this property is not supported")
