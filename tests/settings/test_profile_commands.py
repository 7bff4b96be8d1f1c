"""Secrets of profiles from commands."""

from __future__ import annotations

import os
import shlex
import sys
import time
from pathlib import Path

import pytest

from kafka_groups.settings import TokenCredentials, resolve_settings
from kafka_groups.settings.librdkafka import resolve_client
from kafka_groups.settings.tokens.token_command import TokenCommand
from tests.settings.resolution import error_text
from tests.settings.secret_profiles import PLAIN, SECRET, password_of, problem_of, write_profile

NO_PARTNER = (
    "sasl.password.command: a quotation mark of the command has no partner; write the command as a list of words"
)
PRINT = [sys.executable, "-c", f"print({SECRET!r})"]


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


@pytest.mark.skipif(os.name == "nt", reason="the command is one of Unix")
def test_a_command_of_a_flag_is_not_supported() -> None:
    text = error_text(bootstrap="b", properties=["sasl.password.command=true"])
    assert text.startswith("-X sasl.password.command: this property is not supported")
