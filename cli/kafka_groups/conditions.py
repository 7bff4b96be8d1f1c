"""Conditions on rows of `lag`, such as `lag>1000 and state==Stable`: a parser, and nothing that evaluates code.

    condition  := and-list ("or" and-list)*
    and-list   := term ("and" term)*
    term       := "(" condition ")" | field operator value
    operator   := < <= > >= == !=
    value      := number | duration | word | "text" | 'text'

`and` binds tighter than `or`. A comparison with a missing value is never true, not even with !=. A value of several
words (notes) equals each of them; it differs from a word that it does not have, also if it has no word at all.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from enum import Enum
from itertools import chain
from types import MappingProxyType
from typing import Any, Final, NamedTuple, NoReturn, Protocol

from kafka_groups.numerals import hint_of_integer
from kafka_groups.suggestions import did_you_mean

_TOKEN: Final = re.compile(
    r"""\s*(?:(?P<operator><=|>=|==|!=|<|>)|(?P<parenthesis>[()])|(?P<quoted>"[^"]*"|'[^']*')|(?P<word>[^\s()<>=!"']+))"""
)
_OPERATORS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_EQUALITY: Final = ("==", "!=")
_MAX_DEPTH: Final = 50


class FieldType(Enum):
    """The type of a field's values."""

    NUMBER = "a number"
    DURATION = "a duration"
    TEXT = "a text"
    RANK = "a word with a rank"


class ConditionError(ValueError):
    """A condition that cannot be parsed; its text has the place, marked by an arrow."""


class Condition(Protocol):
    """A parsed condition."""

    def holds(self, row: Mapping[str, Any]) -> bool:
        """Return whether the condition is true of a row."""

    def fields(self) -> frozenset[str]:
        """Return the fields that the condition compares."""

    def comparisons(self) -> Iterator[Comparison]:
        """Yield the comparisons of the condition."""


class Comparison(NamedTuple):
    """A field compared with a value."""

    field: str
    operator: str
    value: float | str

    def holds(self, row: Mapping[str, Any]) -> bool:
        """Return whether the row's value is there and the comparison is true. Texts are compared in any case.

        Of several words, such as notes, one has to be equal, or none if the comparison is !=.
        """
        value = row[self.field]
        if value is None:
            return False
        if isinstance(value, tuple):
            is_one_of_them = str(self.value).casefold() in {word.casefold() for word in value}
            return is_one_of_them == (self.operator == "==")
        if isinstance(self.value, str):
            return _OPERATORS[self.operator](str(value).casefold(), self.value.casefold())
        return _OPERATORS[self.operator](value, self.value)

    def fields(self) -> frozenset[str]:
        """Return the field."""
        return frozenset({self.field})

    def comparisons(self) -> Iterator[Comparison]:
        """Yield the comparison itself."""
        yield self


class AllOf(NamedTuple):
    """Conditions that are all true."""

    parts: tuple[Condition, ...]

    def holds(self, row: Mapping[str, Any]) -> bool:
        """Return whether every part is true of a row."""
        return all(part.holds(row) for part in self.parts)

    def fields(self) -> frozenset[str]:
        """Return the fields of all parts."""
        return frozenset().union(*(part.fields() for part in self.parts))

    def comparisons(self) -> Iterator[Comparison]:
        """Yield the comparisons of all parts."""
        return chain.from_iterable(part.comparisons() for part in self.parts)


class AnyOf(NamedTuple):
    """Conditions that hold if at least one of them is true."""

    parts: tuple[Condition, ...]

    def holds(self, row: Mapping[str, Any]) -> bool:
        """Return whether a part is true of a row."""
        return any(part.holds(row) for part in self.parts)

    def fields(self) -> frozenset[str]:
        """Return the fields of all parts."""
        return frozenset().union(*(part.fields() for part in self.parts))

    def comparisons(self) -> Iterator[Comparison]:
        """Yield the comparisons of all parts."""
        return chain.from_iterable(part.comparisons() for part in self.parts)


def parse_condition(
    text: str,
    fields: Mapping[str, FieldType],
    *,
    parse_duration: Callable[[str], float],
    words: Mapping[str, Collection[str]] = MappingProxyType({}),
) -> Condition:
    """Return the condition in a text. `fields` are the known fields; a duration is compared in milliseconds.

    `words` are all values that a field may have, in any case; those of a RANK are in ascending order, and rows have the
    place of theirs, from 0. `parse_duration` returns seconds, or raises ValueError.
    Raises ConditionError for a text that is no condition, an unknown field, and a value or an operator that the field
    does not have.
    """
    parser = _Parser(text, fields, parse_duration, words)
    condition = parser.read_any(depth=0)
    if parser.token is not None:
        parser.fail("expected 'and', 'or' or the end")
    return condition


class _Token(NamedTuple):
    kind: str
    text: str
    start: int


class _Parser:
    """A parser with one token of lookahead."""

    def __init__(
        self,
        text: str,
        fields: Mapping[str, FieldType],
        parse_duration: Callable[[str], float],
        words: Mapping[str, Collection[str]],
    ) -> None:
        self._text = text
        self._fields = fields
        self._words = words
        self._parse_duration = parse_duration
        self._tokens = self._read_tokens()
        self.token: _Token | None = None
        self._end = len(text.rstrip())
        self._advance()

    def read_any(self, *, depth: int) -> Condition:
        """Read conditions that are joined by `or`."""
        parts = [self._read_all(depth)]
        while self._take_word("or"):
            parts.append(self._read_all(depth))
        return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))

    def fail(self, problem: str, token: _Token | None = None) -> NoReturn:
        """Raise ConditionError at a token, by default the current one."""
        at = token or self.token
        place = self._end if at is None else at.start
        msg = f"{self._text[:place]}→{self._text[place:]}: {problem}"
        raise ConditionError(msg)

    def _read_all(self, depth: int) -> Condition:
        parts = [self._read_term(depth)]
        while self._take_word("and"):
            parts.append(self._read_term(depth))
        return parts[0] if len(parts) == 1 else AllOf(tuple(parts))

    def _read_term(self, depth: int) -> Condition:
        if not self._take_parenthesis("("):
            return self._read_comparison()
        if depth >= _MAX_DEPTH:
            self.fail("the parentheses are nested too deeply")
        inner = self.read_any(depth=depth + 1)
        if not self._take_parenthesis(")"):
            self.fail("expected 'and', 'or' or ')'")
        return inner

    def _read_comparison(self) -> Comparison:
        field = self._take(("word",), "expected a field, such as lag")
        known = self._fields.get(field.text)
        if known is None:
            hint = did_you_mean(field.text, self._fields)
            names = ", ".join(sorted(self._fields))
            self.fail(f"there is no field {field.text!r}; the fields are {names}{hint}", field)
        sign = self._take(("operator",), "expected one of < <= > >= == !=")
        if known is FieldType.TEXT and sign.text not in _EQUALITY:
            self.fail(f"{field.text} is a text, which is compared only with == and !=", sign)
        value = self._take(("word", "quoted"), "expected a value")
        return Comparison(field.text, sign.text, self._read_value(value, field.text, known))

    def _read_value(self, token: _Token, field: str, known: FieldType) -> float | str:
        text = token.text[1:-1] if token.kind == "quoted" else token.text
        words = self._words.get(field)
        if words is not None and text.lower() not in {word.lower() for word in words}:
            self.fail(f"{field} is never {text!r}; write one of {', '.join(words)}{did_you_mean(text, words)}", token)
        if known is FieldType.RANK and words is not None:
            return [word.lower() for word in words].index(text.lower())
        if known is FieldType.TEXT:
            return text
        try:
            if known is FieldType.DURATION:
                return self._parse_duration(text) * 1000
            return _parse_number(field, text)
        except ValueError as error:
            self.fail(str(error), token)

    def _take_word(self, word: str) -> bool:
        if self.token is None or self.token.kind != "word" or self.token.text.lower() != word:
            return False
        self._advance()
        return True

    def _take_parenthesis(self, text: str) -> bool:
        if self.token is None or self.token.kind != "parenthesis" or self.token.text != text:
            return False
        self._advance()
        return True

    def _take(self, kinds: Collection[str], expected: str) -> _Token:
        token = self.token
        if token is None or token.kind not in kinds:
            self.fail(expected)
        self._advance()
        return token

    def _advance(self) -> None:
        self.token = next(self._tokens, None)

    def _read_tokens(self) -> Iterator[_Token]:
        position = 0
        while self._text[position:].strip():
            found = _TOKEN.match(self._text, position)
            if found is None:
                start = position + len(self._text[position:]) - len(self._text[position:].lstrip())
                is_equal_sign = self._text[start] == "="
                problem = "write == to compare" if is_equal_sign else "this is not part of a condition"
                self.fail(problem, _Token("", "", start))
            assert found.lastgroup is not None
            yield _Token(found.lastgroup, found[found.lastgroup], found.start(found.lastgroup))
            position = found.end()


def _parse_number(field: str, text: str) -> float:
    """Return the number; raise ValueError for others, also for "1_000", "inf" and "nan", which float accepts."""
    if not re.fullmatch(r"[+-]?\d+(\.\d+)?", text, re.ASCII):
        msg = f"{field} is a number, and {text!r} is none{hint_of_integer(text)}"
        raise ValueError(msg)
    return float(text) if "." in text else int(text)
