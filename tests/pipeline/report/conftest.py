"""Fixtures of the tests of what a report looks like: screens whose streams are strings, and tables with a quick log."""

from __future__ import annotations

from tests.pipeline.delayed_log import delayed_commits
from tests.rendering.conftest import make_screen

__all__ = ["delayed_commits", "make_screen"]
