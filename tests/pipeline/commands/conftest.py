"""Fixtures for the tests of the pipeline's commands: fakes of the functions they call, and a directory of tables."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from kafka_groups.pipeline.build.build_plan import ALL_DATES, DateRange
from kafka_groups.pipeline.store import Storage
from tests.commands.conftest import state_home

__all__ = ["FakePipeline", "state_home"]

if TYPE_CHECKING:
    from pytest_mock import MockerFixture


class FakePipeline:
    """Fakes of the functions that commands call, each with a result; `spark` is the fake that opens a session."""

    def __init__(self, mocker: MockerFixture, monkeypatch: pytest.MonkeyPatch) -> None:
        self._mocker = mocker
        self._monkeypatch = monkeypatch
        self.open_ingestion = self._fake("facts.ingestion", "open_ingestion")
        self.open_ingestion.side_effect = self._create_directory
        self.ingest = mocker.Mock(name="ingest")
        self.ingest.return_value = SimpleNamespace(cluster_id="c", batches=2, records=30, rows={"offset_commits": 28})
        self.total = mocker.Mock(name="total")
        self.total.return_value = SimpleNamespace(cluster_id="c", batches=0, records=0, rows={})
        self.open_ingestion.return_value = nullcontext(
            SimpleNamespace(run=self.ingest, result=self.total, topic_exists=True)
        )
        self.sample = self._fake("facts.sample", "sample")
        self.sample.return_value = SimpleNamespace(
            cluster_id="c", batch="b", groups=1, rows={"partition_offsets": 4}, failures=()
        )
        self.backfill = self._fake("facts.backfill", "backfill")
        self.backfill.return_value = SimpleNamespace(
            cluster_id="c", partitions=2, times=5, batches=[], rows=10, deleted=0, ahead=0, failures=[]
        )
        self.sample.side_effect = self.backfill.side_effect = self._create_directory
        self.build = self._fake("build.run", "build")
        self.estimate_facts = self._fake("build.build_plan", "estimate_facts", DateRange=DateRange, ALL_DATES=ALL_DATES)
        self.estimate_facts.return_value = 200_000
        self.build.return_value = SimpleNamespace(
            rows={"lag_history": 7}, dates=("2026-01-01",), missing=("no end offsets",)
        )
        self.report = self._fake("report.history_reader", "read_history")
        self.compact = self._fake("store.compaction", "compact")
        self.compact.return_value = SimpleNamespace(dates=1, files_before=9, files_after=2, removed_dates=1)
        self.spark = mocker.patch("kafka_groups.pipeline.spark.session.start_session")
        self.spark.return_value = nullcontext("spark")
        self.clients = {
            name: mocker.patch(f"kafka_groups.pipeline.commands.{name}.GroupAdmin") for name in ("sample", "backfill")
        }

    def _create_directory(self, *given: Any, **_: object) -> Any:
        (storage,) = (each for each in given if isinstance(each, Storage))
        storage.make()
        return self._mocker.DEFAULT

    def _fake(self, module: str, name: str, **others: Any) -> Any:
        fake = self._mocker.Mock(name=name)
        fake_module = ModuleType(f"kafka_groups.pipeline.{module}")
        real = find_spec(fake_module.__name__)
        assert real is not None, "a fake of a module that does not exist replaces nothing"
        if real.submodule_search_locations is not None:
            fake_module.__path__ = [*real.submodule_search_locations]  # its modules are the real ones
        vars(fake_module).update({name: fake, **others})
        self._monkeypatch.setitem(sys.modules, fake_module.__name__, fake_module)
        return fake


@pytest.fixture
def fakes(mocker: MockerFixture, monkeypatch: pytest.MonkeyPatch) -> FakePipeline:
    """Fakes of the pipeline's packages."""
    return FakePipeline(mocker, monkeypatch)


@pytest.fixture
def data_dir(tmp_path: Path) -> str:
    """A directory of tables that the pipeline created."""
    from kafka_groups.pipeline.store import open_storage

    path = str(tmp_path / "history")
    open_storage(path, create=True).make()
    return path
