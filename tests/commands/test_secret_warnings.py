"""Warnings about secrets that others can read: on stderr, once for each command, and never in the result."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest

from kafka_groups.options.connection import Connection
from kafka_groups.options.warnings import print_warnings
from kafka_groups.pipeline.commands.connection_settings import admin_settings, librdkafka_settings
from tests.fakes.command_line import run
from tests.fakes.fake_admin import FakeCluster

SECRET = "hidden-thing"
FLAGS = ("-Xsecurity.protocol=SASL_SSL", "-Xsasl.mechanism=PLAIN", "-Xsasl.username=me")
WARNING = (
    "Warning: -X sasl.password shows a secret in the list of processes and in the history of the shell; use a profile "
    "or a config file that only you can read, or KAFKA_GROUPS_SASL_PASSWORD\n"
)


def write_config(folder: Path, mode: int) -> Path:
    """Write a config file with a password, with a mode, and return its path."""
    config = folder / "client.properties"
    pairs = {each.removeprefix("-X").partition("=")[0]: each.partition("=")[2] for each in FLAGS}
    config.write_text("".join(f"{key}={value}\n" for key, value in (pairs | {"sasl.password": SECRET}).items()))
    config.chmod(mode)
    return config


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("output", ["table", "json", "csv"])
def test_a_secret_by_a_flag_is_a_warning_on_stderr_alone(output: str) -> None:
    plain = run("list", *FLAGS, "--format", output, KAFKA_GROUPS_SASL_PASSWORD=SECRET)
    outcome = run("list", *FLAGS, f"-Xsasl.password={SECRET}", "--format", output)
    assert plain.exit_code == outcome.exit_code == 0
    assert (outcome.stdout, outcome.stderr) == (plain.stdout, WARNING + plain.stderr)
    assert "Warning" not in plain.stderr


def test_a_config_file_that_others_can_read_is_a_warning(tmp_path: Path, cluster: FakeCluster) -> None:
    del cluster
    config = write_config(tmp_path, 0o644)
    warning = f"Warning: other users can read {config}, which has a secret (sasl.password); run: chmod 600 {config}\n"
    assert run("list", "-b", "b:1", "--config", str(config)).stderr.startswith(warning)
    # Each run of the command line has it.
    assert run("list", "-b", "b:1", "--config", str(config)).stderr.startswith(warning)
    config.chmod(0o600)
    assert "Warning" not in run("list", "-b", "b:1", "--config", str(config)).stderr


def test_a_command_that_resolves_its_settings_twice_prints_a_warning_once(capsys: pytest.CaptureFixture[str]) -> None:
    properties = tuple(flag.removeprefix("-X") for flag in (*FLAGS, f"-Xsasl.password={SECRET}"))
    connection = Connection(bootstrap_server="b:1", config=None, properties=properties, profile=None, timeout=None)
    for _ in range(2):
        with click.Context(click.Command("c")):
            librdkafka_settings(connection)
            admin_settings(connection)
    assert capsys.readouterr() == ("", WARNING * 2)


def test_a_warning_has_no_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    print_warnings(["a\x1b[31m\nb"])
    assert capsys.readouterr().err == "Warning: a\\x1b[31m\\nb\n"


def test_a_command_that_prints_no_password_fails_the_whole_command_with_one_line(tmp_path: Path) -> None:
    profiles = tmp_path / "kafka-groups" / "profiles.toml"
    profiles.parent.mkdir()
    pairs = {each.removeprefix("-X").partition("=")[0]: each.partition("=")[2] for each in FLAGS}
    lines = [f"{json.dumps(key)} = {json.dumps(value)}" for key, value in pairs.items()]
    command = ["sh", "-c", f"echo {SECRET}; echo refused {SECRET} >&2; exit 4"]
    profiles.write_text("\n".join(["[p]", *lines, f'"sasl.password.command" = {json.dumps(command)}']))
    profiles.chmod(0o600)
    outcome = run("list", "-b", "b:1", "--profile", "p", "--format", "json", XDG_CONFIG_HOME=str(tmp_path))
    reason = "profile 'p': sasl.password.command: the command 'sh' failed with exit status 4: refused (hidden)"
    assert (outcome.exit_code, outcome.stderr) == (1, f"Error: {reason}\n")
    (error,) = json.loads(outcome.stdout)["errors"]
    assert (error["name"], error["message"]) == ("CONFIG_PROVIDER_FAILED", reason)
