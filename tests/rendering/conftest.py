"""What the tests of rendering share: screens made of strings."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest

from kafka_groups.rendering.screen import Screen


class Tty(io.StringIO):
    """A string that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def make_screen() -> Callable[..., Screen]:
    """A pipe, unless told otherwise; `written(screen.out)` is what stands there."""

    def make(**told: Any) -> Screen:
        known: dict[str, Any] = {
            "out": io.StringIO(),
            "err": Tty(),
            "out_is_terminal": False,
            "err_is_terminal": False,
            "colour": False,
            "width": 120,
        }
        return Screen(**(known | told))

    return make
