"""--table-format: a new directory gets the format, and every command uses the format of an existing one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kafka_groups.commands.pipeline.options import _TABLE_FORMATS
from kafka_groups.pipeline.storage import open_storage
from kafka_groups.pipeline.storage.delta import requirements
from kafka_groups.pipeline.storage.formats import TABLE_FORMATS
from kafka_groups.pipeline.storage.marker import MARKER
from kafka_groups.pipeline.tables import OFFSET_COMMITS
from tests.commands.pipeline.conftest import FakePipeline
from tests.fakes.fake_admin import run
from tests.pipeline.storage.commits import commits

MAKERS = ("ingest", "sample", "backfill")
CLUSTER = ("-b", "127.0.0.1:1")

pytestmark = pytest.mark.usefixtures("fakes")


def format_of(data_dir: Path) -> str:
    return str(json.loads((data_dir / MARKER).read_text())["table_format"])


def test_the_choices_are_those_of_the_storage() -> None:
    assert _TABLE_FORMATS == TABLE_FORMATS


@pytest.mark.parametrize("command", MAKERS)
@pytest.mark.parametrize(("options", "expected"), [(("--table-format", "delta"), "delta"), ((), "parquet")])
def test_a_new_directory_gets_the_format(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, options: tuple[str, ...], expected: str
) -> None:
    monkeypatch.setattr("kafka_groups.pipeline.examining.check_client", lambda *_: None)
    data_dir = tmp_path / "new"
    assert run("pipeline", command, "--data-dir", str(data_dir), *CLUSTER, *options).exit_code == 0
    assert format_of(data_dir) == expected


def test_the_environment_sets_the_format_and_the_option_overrides_it(tmp_path: Path) -> None:
    for name, options, expected in (("a", (), "delta"), ("b", ("--table-format", "parquet"), "parquet")):
        data_dir = tmp_path / name
        outcome = run(
            "pipeline", "sample", "--data-dir", str(data_dir), *CLUSTER, *options, KAFKA_GROUPS_TABLE_FORMAT="delta"
        )
        assert (outcome.exit_code, format_of(data_dir)) == (0, expected)
    outcome = run("pipeline", "sample", "--data-dir", "x", *CLUSTER, KAFKA_GROUPS_TABLE_FORMAT="orc")
    assert outcome.exit_code == 2
    assert "KAFKA_GROUPS_TABLE_FORMAT is 'orc'; write one of parquet, delta" in outcome.stderr


def test_the_environment_does_not_apply_to_a_directory_that_has_a_format(data_dir: str) -> None:
    outcome = run("pipeline", "sample", "--data-dir", data_dir, *CLUSTER, KAFKA_GROUPS_TABLE_FORMAT="delta")
    assert (outcome.exit_code, format_of(Path(data_dir))) == (0, "parquet")


def test_another_format_than_that_of_the_directory_is_an_error_in_one_line(data_dir: str, fakes: FakePipeline) -> None:
    outcome = run("pipeline", "sample", "--data-dir", data_dir, *CLUSTER, "--table-format", "delta", "--format", "json")
    assert (outcome.exit_code, outcome.stderr.count("\n")) == (1, 1)
    assert "have the format parquet, which contradicts the requested delta" in outcome.stderr
    assert json.loads(outcome.stdout)["errors"][0]["name"] == "STORAGE_FAILED"
    fakes.sample.assert_not_called()


@pytest.mark.parametrize("command", [("sample", *CLUSTER), ("compact",), ("tables",), ("build",)])
def test_without_deltalake_the_error_names_the_package_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    open_storage(str(tmp_path / "d"), create=True, table_format="delta")
    monkeypatch.setattr(requirements, "find_spec", lambda _: None)
    outcome = run("pipeline", *command, "--data-dir", str(tmp_path / "d"))
    assert (outcome.exit_code, outcome.stderr.count("\n")) == (1, 1)
    assert "try pip install 'kafka-groups[delta]'" in outcome.stderr


def test_tables_and_doctor_count_the_rows_of_delta_tables(tmp_path: Path) -> None:
    storage = open_storage(str(tmp_path / "d"), create=True, table_format="delta")
    for number in (1, 1, 2):
        storage.append(OFFSET_COMMITS, f"sample-{number}", commits(range(4)))
    outcome = run("pipeline", "tables", "--data-dir", storage.into, "--format", "json")
    found = {one["table"]: one for one in json.loads(outcome.stdout)["tables"]}["offset_commits"]
    assert (found["rows"], found["files"], found["first_date"]) == (8, 2, "2026-11-01")
    checks = run(
        "pipeline", "doctor", "--data-dir", storage.into, *CLUSTER, "--timeout", "1s", "--format", "json"
    ).stdout
    assert "offset_commits 8" in checks
