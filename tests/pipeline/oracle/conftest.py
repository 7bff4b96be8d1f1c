"""Builds of simulated clusters, whose tables have a log that is quick."""

from __future__ import annotations

from tests.pipeline.delayed_log import delayed_commits

__all__ = ["delayed_commits"]
