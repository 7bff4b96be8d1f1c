"""The language of man pages (man(7)): macros, and text in which nothing is a macro. Only ASCII, for every formatter."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from typing import Final

_WIDTH: Final = 78
# A formatter may replace these by typographic characters.
_ESCAPES: Final = {"\\": r"\e", "^": r"\(ha", "~": r"\(ti", "`": r"\(ga", "'": r"\(aq"}


def text(plain: str) -> str:
    """Return text with everything escaped that would be a command."""
    return "".join(_ESCAPES.get(each) or (each if each.isascii() else f"\\[u{ord(each):04X}]") for each in plain)


def literal(plain: str) -> str:
    """Return text that is typed, with minus signs instead of hyphens."""
    return text(plain).replace("-", r"\-")


def bold(plain: str) -> str:
    """Return bold text that is typed."""
    return rf"\fB{literal(plain)}\fR"


def header(name: str, section: int, *, date: str, source: str, manual: str) -> list[str]:
    """Return the first lines of a page. Words are not hyphenated, because many of them are typed."""
    return [
        '.\\" Generated from the help of the command by "make generated".',
        f'.TH {literal(name.upper())} {section} {date} "{source}" "{manual}"',
        ".nh",
        ".ad l",
    ]


def heading(name: str) -> str:
    """Return the heading of a section."""
    return f".SH {name}"


def paragraph(escaped: str) -> list[str]:
    """Return the lines of a paragraph."""
    lines = textwrap.wrap(escaped, _WIDTH, break_long_words=False, break_on_hyphens=False)
    return [_no_macro(line) for line in lines]


def definition(term: str, about: str) -> list[str]:
    """Return a term and its explanation."""
    return [".TP", _no_macro(term), *paragraph(_typed_words(about))]


def preformatted(lines: Iterable[str]) -> list[str]:
    """Return lines that are kept as they are."""
    return [".nf", *(_no_macro(literal(line)) for line in lines), ".fi"]


def examples(lines: Iterable[str]) -> list[str]:
    """Return command lines, indented."""
    return [".RS 4", *preformatted(lines), ".RE"]


def _typed_words(plain: str) -> str:
    """Return text in which the words that begin with a hyphen are typed, such as `--format`."""
    return re.sub(r"(?<![\w\\])-{1,2}[\w-]+", lambda match: literal(match[0]), text(plain))


def _no_macro(line: str) -> str:
    return rf"\&{line}" if line.startswith((".", "'")) else line
