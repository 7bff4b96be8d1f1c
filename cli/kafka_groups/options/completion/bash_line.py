"""A command line of bash up to the cursor: its words, and how a value is written at the cursor.

bash passes no words that can be used: it splits at the characters of COMP_WORDBREAKS, and `host:9092` is three words.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_SPACE: Final = " \t\n"
_REDIRECTIONS: Final = "<>"
_ANSI: Final = "$'"
# Characters that need no quotes. Letters and digits of all scripts are among them.
_PLAIN: Final = re.compile(r"[\w@%+=:,./\-]")
# Characters that change the terminal or the order of the text on it: C0, C1, line separators, bidirectional controls.
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_ANSI_NAMES: Final = {"\a": "a", "\b": "b", "\t": "t", "\n": "n", "\v": "v", "\f": "f", "\r": "r", "\x1b": "e"}
_ANSI_DIGITS: Final = re.compile(r"x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{1,4}|[0-7]{1,3}")
_ANSI_CODES: Final = {**{code: character for character, code in _ANSI_NAMES.items()}, "E": "\x1b"}
# Behind a backslash in double quotes, other characters keep the backslash.
_FIRST_NOT_ASCII: Final = 0x80
_SPECIAL_IN_DOUBLE: Final = '"\\$`'


class Line(NamedTuple):
    """The words before the cursor, the program first and the incomplete one last, without quotes.

    bash replaces the incomplete word from the character `replaced_from` on. `quote` is the quote that is open at the
    cursor. `is_redirection` is true if the incomplete word is the file of a redirection.
    """

    words: list[str]
    replaced_from: int
    quote: str
    is_redirection: bool

    def written(self, value: str) -> str:
        """Return a value that begins with the incomplete word, from `replaced_from` on, as bash reads it."""
        rest = value[self.replaced_from :]
        if self.quote == _ANSI:
            return _in_ansi_quotes(rest)
        # A newline would end the value, and in double quotes bash replaces `!` by the history, whatever precedes it.
        if self.quote and (_CONTROL.search(rest) or (self.quote == '"' and "!" in rest)):
            return f"{self.quote}{_ANSI}{_in_ansi_quotes(rest)}'{self.quote}"
        if self.quote == "'":
            return rest.replace("'", r"'\''")
        if self.quote == '"':
            return re.sub(r'["\\$`]', r"\\\g<0>", rest)
        if _CONTROL.search(rest):
            return f"{_ANSI}{_in_ansi_quotes(rest)}'"
        return "".join(character if _PLAIN.match(character) else f"\\{character}" for character in rest)


def parse_line(text: str, *, word_breaks: str) -> Line:
    """Return the words of a line up to the cursor; its last quote may be open, its last character a backslash."""
    return _Scanner(text, word_breaks).scan()


class _Scanner:
    def __init__(self, text: str, word_breaks: str) -> None:
        self._text = text
        self._at = 0
        self._breaks = word_breaks
        self._words: list[str] = []
        # None between words.
        self._word: str | None = None
        self._replaced_from = 0
        self._is_redirection = False

    def scan(self) -> Line:
        quote = ""
        while self._at < len(self._text) and not quote:
            quote = self._read()
        return Line([*self._words, self._word or ""], self._replaced_from, quote, self._is_redirection)

    def _read(self) -> str:
        """Read a character or a quoted text. Return its quote if that is open."""
        character = self._take()
        if character in _SPACE or character in _REDIRECTIONS:
            self._end_word(is_redirection=character in _REDIRECTIONS)
        elif character == "\\":
            self._add(self._take())
        elif character in "'\"":
            return self._read_quoted(character)
        elif character == "$" and self._text[self._at : self._at + 1] == "'":
            self._at += 1
            return self._read_quoted(_ANSI)
        else:
            self._add(character)
            if character in self._breaks:
                self._replaced_from = len(self._word or "")
        return ""

    def _read_quoted(self, quote: str) -> str:
        self._add("")
        start = len(self._word or "")
        while self._at < len(self._text):
            character = self._take()
            if character == quote[-1]:
                return ""
            if character == "\\" and quote != "'":
                character = self._escaped(quote)
            self._add(character)
        self._replaced_from = start
        return quote

    def _escaped(self, quote: str) -> str:
        following = self._take()
        if quote == _ANSI:
            if digits := _ANSI_DIGITS.match(self._text, self._at - 1):
                self._at = digits.end()
                return chr(int(digits[0].lstrip("xu"), 16 if following in "xu" else 8))
            return _ANSI_CODES.get(following, following)
        return following if following in _SPECIAL_IN_DOUBLE else f"\\{following}"

    def _take(self) -> str:
        """Return the next character, empty at the end of the line."""
        self._at += 1
        return self._text[self._at - 1 : self._at]

    def _add(self, text: str) -> None:
        self._word = (self._word or "") + text

    def _end_word(self, *, is_redirection: bool) -> None:
        if self._word is not None and not self._is_redirection:
            self._words.append(self._word)
        if self._word is not None or is_redirection:
            self._is_redirection = is_redirection
        self._word = None
        self._replaced_from = 0


def _in_ansi_quotes(text: str) -> str:
    def escape(match: re.Match[str]) -> str:
        character = match[0]
        if character in "'\\":
            return f"\\{character}"
        code = ord(character)
        return f"\\{_ANSI_NAMES.get(character) or (f'x{code:02x}' if code < _FIRST_NOT_ASCII else f'u{code:04x}')}"

    return re.sub(rf"{_CONTROL.pattern}|['\\]", escape, text)
