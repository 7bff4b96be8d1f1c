"""A broker of its own, for these tests count every record of `__consumer_offsets`, and one small Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_groups import sandbox
from kafka_groups.pipeline.storage import Storage, open_storage
from tests.pipeline.conftest import spark

if TYPE_CHECKING:
    from pytest import TempPathFactory  # noqa: PT013 for the type alone

__all__ = ["spark"]


@pytest.fixture(scope="session")
def broker(tmp_path_factory: TempPathFactory) -> Iterator[str]:
    """The address of one broker of the newest Kafka, without any topic."""
    home = tmp_path_factory.mktemp("pipeline-broker")
    wanted = sandbox.Wanted(
        name="pipeline", kafka_version="4.3.1", port=0, heap_mb=512, seed=False, profile=False, home=home
    )
    try:
        yield sandbox.up(wanted).bootstrap
    finally:
        sandbox.down("pipeline", home=home)


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    """Tables without a row."""
    return open_storage(str(tmp_path / "tables"), create=True)
