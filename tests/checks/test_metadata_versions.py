"""The names of levels of metadata.version."""

from __future__ import annotations

import pytest

from kafka_groups.checks.metadata_versions import describe_level


@pytest.mark.parametrize(
    ("level", "text"),
    [
        (1, "1 (3.0-IV1)"),
        (7, "7 (3.3-IV3)"),
        (19, "19 (3.7-IV4)"),
        (25, "25 (4.0-IV3)"),
        (30, "30 (4.3-IV0)"),
        (33, "33 (4.4-IV2)"),
    ],
)
def test_a_level_has_the_name_that_kafka_gives_it(level: int, text: str) -> None:
    assert describe_level(level) == text


def test_a_level_of_a_later_release_has_no_name() -> None:
    assert describe_level(34) == "34 (newer than this version knows)"


def test_a_level_below_the_first_one_has_no_name() -> None:
    assert describe_level(0) == "0"
