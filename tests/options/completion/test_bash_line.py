"""Lines of bash: the words before the cursor, and values written behind it."""

from __future__ import annotations

import subprocess
import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_groups.options.completion.bash_line import Line, parse_line

BREAKS = " \t\n\"'@><=;|&(:"
ODD = [
    *("odd one", "it's", 'a"b', "$HOME", "`x`", "back\\slash", "new\nline", "tab\tx"),
    *("a:b=c", "~", "#x", "*", "ümlaut", "a!!b", '!"', "!#", "c1\x9b31m", "rtl\u202ex"),
]
# What may be open at the cursor: nothing, and each kind of quote.
OPENINGS = ["", "'", '"', "$'"]


def parse(text: str) -> Line:
    """Return a line up to the cursor, with the word breaks that bash has by default."""
    return parse_line(text, word_breaks=BREAKS)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("kafka-groups", ["kafka-groups"]),
        ("kafka-groups ", ["kafka-groups", ""]),
        ("kg -b localhost:9092  x", ["kg", "-b", "localhost:9092", "x"]),
        ("kg --state=St", ["kg", "--state=St"]),
        (r"kg odd\ one", ["kg", "odd one"]),
        ("kg 'odd one' \"it's\"", ["kg", "odd one", "it's"]),
        ("kg 'a\\", ["kg", "a\\"]),
        (r'kg "a\"b\x"', ["kg", r'a"b\x']),
        (r"kg $'a\nb\x41\101\''", ["kg", "a\nbAA'"]),
        ("kg '' x", ["kg", "", "x"]),
        ("kg x\\", ["kg", "x"]),
        ("kg x > file -q", ["kg", "x", "-q"]),
    ],
)
def test_words_are_those_that_bash_would_pass(text: str, words: list[str]) -> None:
    assert parse(text).words == words


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("kg ord", r"orders:eu\ west"),
        ("kg orders:e", r"eu\ west"),
        ("kg 'ord", "orders:eu west"),
        ("kg 'or'd", r"orders:eu\ west"),
        ("kg 'orders:'e", r"orders:eu\ west"),
        ("kg or'd", "ders:eu west"),
        ("kg orders\\:e", r"orders:eu\ west"),
    ],
)
def test_a_value_is_written_from_the_character_on_that_bash_replaces(text: str, written: str) -> None:
    assert parse(text).written("orders:eu west") == written


def test_the_file_of_a_redirection_is_no_value() -> None:
    assert parse("kg list > fi").is_redirection
    assert parse("kg list 2>").is_redirection
    assert not parse("kg list > file ").is_redirection


@given(value=st.text(min_size=1), opening=st.sampled_from(OPENINGS))
def test_a_written_value_is_read_back(value: str, opening: str) -> None:
    line = parse(f"kg {opening}")
    assert parse(f"kg {opening}{line.written(value)}").words == ["kg", value]


@given(value=st.text(min_size=1), opening=st.sampled_from(OPENINGS))
def test_a_written_value_has_one_line_and_no_control_characters(value: str, opening: str) -> None:
    written = parse(f"kg {opening}").written(value)
    assert len(f"x{written}x".splitlines()) == 1
    assert not any(
        unicodedata.category(character) == "Cc" or 0x202A <= ord(character) <= 0x202E for character in written
    )


@pytest.mark.parametrize("opening", OPENINGS)
def test_bash_reads_a_written_value_as_it_is(program: Callable[[str], str], opening: str) -> None:
    line = parse(f"kg {opening}")
    words = " ".join(f"{opening}{line.written(value)}{opening[-1:]}" for value in ODD)
    command = [program("bash"), "-c", f"printf '%s\\0' {words}"]
    run = subprocess.run(command, capture_output=True, check=True, encoding="utf-8")
    assert run.stdout.split("\0")[:-1] == ODD
