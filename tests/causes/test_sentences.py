"""Command lines for groups."""

import pytest

from kafka_groups.command_lines import group_command


@pytest.mark.parametrize(
    ("group", "expected"),
    [
        ("billing", "kafka-groups reset billing --topic t"),
        ("it's", "kafka-groups reset 'it'\"'\"'s' --topic t"),
        ("--all-groups", "kafka-groups reset --topic t -- --all-groups"),
    ],
)
def test_the_id_of_a_group_is_one_word_and_no_option(group: str, expected: str) -> None:
    assert group_command("reset", group, "--topic", "t") == expected
