"""A run of the command line inside the test's process."""

from __future__ import annotations

from typing import NamedTuple

from click.testing import CliRunner

from kafka_groups.cli import cli


class Outcome(NamedTuple):
    """The exit code and the output of a run of the command line."""

    exit_code: int
    stdout: str
    stderr: str


def run(*arguments: str, bootstrap: str | None = "b1:9092", **environment: str | None) -> Outcome:
    """Run `kafka-groups` with these arguments, against `bootstrap` unless it is None."""
    unset = {f"KAFKA_GROUPS_{name}": None for name in ("CONFIG", "PROFILE", "SASL_PASSWORD", "TIMEOUT")}
    variables = {**unset, "KAFKA_GROUPS_BOOTSTRAP_SERVER": bootstrap, **environment}
    result = CliRunner().invoke(cli, list(arguments), env=variables, prog_name="kafka-groups")
    return Outcome(result.exit_code, result.stdout, result.stderr)
