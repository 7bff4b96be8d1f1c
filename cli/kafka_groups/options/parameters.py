"""Types of options: names in UTF-8, numbers and dates in ASCII digits; several options combined into one value."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import wraps
from typing import Any, Final, TypeVar, cast

import click
from click.types import IntParamType, StringParamType

from kafka_groups.numerals import parse_integer
from kafka_groups.settings.values import LONGEST_S, parse_duration

F = TypeVar("F", bound=Callable[..., Any])


def decode_argument(text: str) -> str:
    """Return an argument of the command line as UTF-8 if its bytes are, whatever the locale; else unchanged.

    Output in a pipe is UTF-8, so a name that comes back from it, as through `xargs`, is the same name.
    """
    try:
        return text if text.isascii() else os.fsencode(text).decode()
    except UnicodeError:
        return text


class NameType(StringParamType):
    """A name of Kafka's, or a text that contains some: UTF-8 whatever the locale."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the text."""
        return decode_argument(super().convert(value, param, ctx))


class Integer(IntParamType):
    """A whole number of ASCII digits."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number; BadParameter for other text."""
        return super().convert(_parsed(self, parse_integer, value, param, ctx), param, ctx)


class IntegerRange(click.IntRange):
    """A whole number of ASCII digits in a range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number; BadParameter for other text, and outside of the range."""
        return super().convert(_parsed(self, parse_integer, value, param, ctx), param, ctx)


class Date(click.DateTime):
    """A date such as 2026-11-01, in ASCII digits."""

    def __init__(self) -> None:
        super().__init__(formats=["%Y-%m-%d"])

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return midnight of the date; BadParameter for other text."""
        if isinstance(value, str) and re.fullmatch(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}", value) is None:
            self.fail(f"{value!r} is not a date; write for example 2026-11-01", param, ctx)
        return super().convert(value, param, ctx)


NAME: Final = NameType()


def _parsed(
    kind: click.ParamType[Any],
    parse: Callable[[str], float],
    value: Any,
    param: click.Parameter | None,
    ctx: click.Context | None,
) -> Any:
    """Return the number in a text; a default is a number already."""
    if not isinstance(value, str):
        return value
    try:
        return parse(value)
    except ValueError as error:
        kind.fail(str(error), param, ctx)


def parse_option_duration(
    option: str, text: str, *, longest_s: float = LONGEST_S, context: click.Context | None = None
) -> float:
    """Return the seconds of an option's duration; UsageError, with the option's name, for other text."""
    try:
        return parse_duration(text, longest_s=longest_s)
    except ValueError as error:
        msg = f"{option}: {error}"
        raise click.UsageError(msg, context) from error


def combine_options(function: F, name: str, make: Callable[..., Any], parts: tuple[str, ...]) -> F:
    """Pass several options as one value, so that a command's signature shows what it needs."""

    @wraps(function)  # it copies the attribute in which click keeps a function's options, too
    def wrapper(**arguments: Any) -> Any:
        taken = {part: arguments.pop(part) for part in parts}
        return function(**arguments, **{name: make(**taken)})

    return cast("F", wrapper)
