"""Fixtures of the rendering tests: screens whose streams are strings."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest

from kafka_groups.rendering.screen import Screen
from tests.rendering.streams import Tty


@pytest.fixture
def make_screen() -> Callable[..., Screen]:
    """Return a function that makes a screen with these values; its stdout is a pipe by default."""

    def make(**values: Any) -> Screen:
        defaults: dict[str, Any] = {
            "out": io.StringIO(),
            "err": Tty(),
            "out_is_terminal": False,
            "err_is_terminal": False,
            "colour": False,
            "width": 120,
        }
        return Screen(**(defaults | values))

    return make
