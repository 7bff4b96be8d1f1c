"""The pipeline's tour, each command a program of its own, on a broker that runs already."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from kafka_groups.sandbox import tour
from kafka_groups.sandbox.tour import Step, pipeline_steps
from tests.live.groups.topics import make_topic, unique_name
from tests.live.pipeline.offsets_topic import commit

pytestmark = [pytest.mark.live, pytest.mark.spark]


def whole_steps(steps: Sequence[Step]) -> list[Step]:
    """Without those that a later one does, too: each start of Spark takes ten seconds."""
    return [
        step
        for place, step in enumerate(steps)
        if not any(other.command[: len(step.command)] == step.command for other in steps[place + 1 :])
    ]


def test_every_command_of_the_pipelines_tour_ends_well(
    broker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    group, data_dir = unique_name("toured"), tmp_path / "tables"
    # Far behind, for a report begins with the worst groups.
    commit(broker, group, make_topic(broker, records=5_000), 2)
    monkeypatch.setattr(tour, "pipeline_steps", lambda *asked: whole_steps(pipeline_steps(*asked)))
    shown: list[str] = []

    went_well = tour.run_demo(broker, show=shown.append, data_dir=data_dir)

    reported = capfd.readouterr()
    assert went_well, reported.err
    assert [line.split()[3] for text in shown for line in text.splitlines() if line.startswith("$")] == [
        *("doctor", "backfill", "sample", "ingest", "build", "report", "tables")
    ]
    assert group in reported.out
    assert "Traceback" not in reported.err
    assert (data_dir / "report.html").read_text().startswith("<!doctype html>")
