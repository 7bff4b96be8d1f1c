"""What a command that runs for weeks must not gather."""

from __future__ import annotations

import gc

import pytest

from kafka_groups.commands.pipeline.running import running


@pytest.fixture
def without_collector() -> None:
    """As `main` leaves it."""
    gc.disable()


@pytest.mark.usefixtures("without_collector")
def test_what_python_holds_of_java_in_cycles_is_given_back() -> None:
    with running("ingest", output_format="json", colour="never"):
        assert gc.isenabled()
