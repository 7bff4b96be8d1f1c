"""Notes and failures on stderr."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest

from kafka_groups.model import Failure
from kafka_groups.rendering.screen import Screen, print_note
from kafka_groups.rendering.stderr import format_failure
from tests.rendering.streams import written

MakeScreen = Callable[..., Screen]


def test_a_note_is_one_line_on_stderr(make_screen: MakeScreen) -> None:
    screen = make_screen(err=io.StringIO())
    print_note(screen, "one\ntwo")
    assert (written(screen.out), written(screen.err)) == ("", "one\\ntwo\n")


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({}, "refused (X)"),
        ({"group": "g"}, "group 'g': refused (X)"),
        ({"group": ""}, "group '': refused (X)"),
        ({"group": "g", "broker": 2}, "group 'g': refused (X)"),
        ({"topic": "t"}, "topic 't': refused (X)"),
        ({"topic": "t", "partition": 0, "broker": 2}, "partition t-0: refused (X)"),
        ({"group": "g", "topic": "t", "partition": 0}, "group 'g', partition t-0: refused (X)"),
        ({"broker": 0}, "broker 0: refused (X)"),
    ],
)
def test_a_failure_is_printed_with_its_group_or_partition_and_its_reason(values: dict[str, Any], text: str) -> None:
    failure = Failure(code=1, name="X", message="refused", **values)
    assert format_failure(failure) == text
