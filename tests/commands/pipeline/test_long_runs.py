"""Memory of commands that run for weeks."""

from __future__ import annotations

import gc

import pytest

from kafka_groups.commands.pipeline.command_run import start_run


@pytest.fixture
def disabled_garbage_collector() -> None:
    """Disable the collector, as `main` does."""
    gc.disable()


@pytest.mark.usefixtures("disabled_garbage_collector")
def test_reference_cycles_with_java_objects_are_collected() -> None:
    with start_run("ingest", output_format="json", colour="never"):
        assert gc.isenabled()
