"""Durations of options, which name the option where they are malformed."""

from __future__ import annotations

import click
import pytest

from kafka_groups.options.parameters import parse_option_duration
from tests.fakes.command_line import run


def test_a_duration_of_an_option_is_in_seconds() -> None:
    assert parse_option_duration("--for", "1m") == 60.0


@pytest.mark.parametrize(("text", "longest_s"), [("soon", 100.0), ("30", 100.0), ("2m", 100.0)])
def test_a_malformed_or_too_long_duration_is_a_usage_error_with_the_name_of_the_option(
    text: str, longest_s: float
) -> None:
    with pytest.raises(click.UsageError, match=rf"^--for: .*'?{text}") as caught:
        parse_option_duration("--for", text, longest_s=longest_s)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("command", "option"),
    [
        (("wait", "g", "--until", "lag==0"), "--for"),
        (("orphans", "--polls", "f"), "--idle"),
        (("lag", "g"), "--watch"),
        (("undo",), "--prune"),
        (("reset", "g", "--topic", "t"), "--by-duration"),
        (("pipeline", "sample", "--data-dir", "d"), "--interval"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_every_command_names_its_option(command: tuple[str, ...], option: str) -> None:
    outcome = run(*command, option, "soon")
    assert outcome.exit_code == 2
    assert f"{option}: 'soon' is not a duration; write for example 30s or 500ms" in outcome.stderr
