"""Fixtures of the tests of what a report looks like: screens whose streams are strings."""

from __future__ import annotations

from tests.rendering.conftest import make_screen

__all__ = ["make_screen"]
