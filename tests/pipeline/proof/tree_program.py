"""The tables and the report that the code of one tree derives from facts, in a process of its own.

`trees.py` runs `python -P tree_program.py FACTS DIRECTORY TABLE...` with that tree in PYTHONPATH. The old commit runs
this file, too, so it uses only names that both trees have.
"""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final
from unittest import mock

from click.testing import CliRunner

from kafka_groups.cli import cli
from kafka_groups.pipeline import api
from tests.pipeline.fact_rows import new_storage, put_all

_TIMES: Final = ("commit_time", "observed_at", "record_time")
_REPORT_PERIOD: Final = "6d"
_NANOSECONDS: Final = 1_000_000_000

Row = dict[str, Any]
Facts = Mapping[str, Sequence[Row]]


def main(facts_file: Path, directory: Path, tables: Sequence[str]) -> None:
    """Build, and write these tables as plain Parquet files and the report as a JSON document into the directory.

    The facts are a pickle of lists of rows by table. They are added date after date, each followed by a build.
    """
    facts: Facts = pickle.loads(facts_file.read_bytes())
    data_dir = str(directory / "storage")
    storage = new_storage(data_dir)
    for number, day in enumerate(_dates(facts)):
        facts_of_day = {name: [row for row in rows if _time(row).date() == day] for name, rows in facts.items()}
        put_all(storage, f"b{number}", facts_of_day)
        api.build(data_dir)
    api.export(data_dir, directory / "tables", kind="parquet", tables=tables)
    newest = max(_time(row) for rows in facts.values() for row in rows)
    (directory / "report.json").write_text(json.dumps(_report(data_dir, newest)))


def _time(row: Row) -> datetime:
    """Return when a commit was made, log ends were observed, or an event was recorded."""
    time: datetime = next(row[name] for name in _TIMES if row.get(name) is not None)
    return time


def _dates(facts: Facts) -> list[date]:
    """Return the dates (UTC) of all facts, each once, the oldest first."""
    return sorted({_time(row).date() for rows in facts.values() for row in rows})


def _report(data_dir: str, until: datetime) -> Any:
    """Return the JSON document of `pipeline report`, run as if the current time were `until`."""
    arguments = ["pipeline", "report", "--data-dir", data_dir, "--since", _REPORT_PERIOD, "--format", "json"]
    with mock.patch("time.time_ns", return_value=int(until.timestamp()) * _NANOSECONDS):
        result = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    if result.exit_code != 0:
        message = f"pipeline report ended with {result.exit_code}: {result.stderr[-2000:]}"
        raise RuntimeError(message)
    return json.loads(result.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
