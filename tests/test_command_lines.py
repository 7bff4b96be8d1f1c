"""Command lines for users to copy: a shell and the tool read the same words."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_groups.command_lines import command_line, group_command


@given(st.lists(st.text(min_size=1)))
def test_a_shell_reads_the_words_of_a_command_line(words: list[str]) -> None:
    assert shlex.split(command_line(*words)) == words


@pytest.mark.parametrize("group", ["g", "--all-groups", "-q", "a b", "it's"])
def test_the_id_of_a_group_is_no_option(group: str) -> None:
    program, name, *words = shlex.split(group_command("delete-offsets", group, "--topic", "-t"))
    assert (program, name) == ("kafka-groups", "delete-offsets")
    expected = ["--topic", "-t", "--", group] if group.startswith("-") else [group, "--topic", "-t"]
    assert words == expected
