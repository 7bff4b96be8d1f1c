"""The note of `lag` on groups with trouble: the command that shows why the first one is behind."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from kafka_groups.commands.lag_trouble import note_trouble, trouble_of
from kafka_groups.groups.lag.lag_row import LagRow
from kafka_groups.rendering.screen import Screen, inspect_streams
from tests.commands.lag_groups import NOTE, add_lag_groups
from tests.fakes.command_line import run
from tests.fakes.fake_admin import FakeCluster, member

if TYPE_CHECKING:
    from pytest_mock import MockerFixture

LOST = "Group 'lost' has lost messages. To see why: kafka-groups why lost"


def row(**values: object) -> LagRow:
    """Return the row of a group; values that are not given are None."""
    empty = dict.fromkeys(name for name in LagRow._fields if name not in LagRow._field_defaults)
    return LagRow(**{**empty, "group": "g", "note": (), **values})  # type: ignore[arg-type]


@pytest.fixture
def people(mocker: MockerFixture) -> None:
    """Let stderr be a terminal."""

    def look(_colour: str) -> Screen:
        return inspect_streams("never")._replace(err_is_terminal=True)

    mocker.patch("kafka_groups.options.cluster_session.inspect_streams", side_effect=look)
    mocker.patch("kafka_groups.options.cluster_session.ProgressBar", return_value=None)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"verdict": "STOP"}, "has the verdict STOP"),
        ({"verdict": "STALL"}, "has the verdict STALL"),
        ({"verdict": "OK", "state": "Empty", "lag": 5}, None),
        ({"verdict": "UNKNOWN", "messages_lost": 3}, "has lost messages"),
        ({"messages_lost": 3, "state": "Empty", "lag": 5}, "has lost messages"),
        ({"state": "Empty", "lag": 5}, "has a lag and no members"),
        ({"state": "Empty", "lag": 0}, None),
        ({"state": "Stable", "lag": 5}, None),
        ({}, None),
    ],
)
def test_trouble_is_a_verdict_or_what_is_known_without_one(values: dict[str, object], text: str | None) -> None:
    assert trouble_of(row(**values)) == text


@pytest.mark.parametrize(
    ("group", "command"),
    [
        ("billing", "kafka-groups why billing -b b1:9092"),
        ("my group", "kafka-groups why 'my group' -b b1:9092"),
        ("-q", "kafka-groups why -b b1:9092 -- -q"),
    ],
)
def test_the_command_of_the_note_is_one_that_a_shell_reads(group: str, command: str) -> None:
    note = note_trouble(row(group=group, verdict="STOP"), 0, ["-b", "b1:9092"])
    assert note.text.endswith(f" To see why: {command}")


def test_one_note_counts_the_other_groups_with_trouble() -> None:
    texts = [note_trouble(row(verdict="WARN"), others, []).text for others in (0, 1, 2)]
    assert texts == [
        "Group 'g' has the verdict WARN. To see why: kafka-groups why g",
        "Group 'g' has the verdict WARN (1 more group has trouble). To see why: kafka-groups why g",
        "Group 'g' has the verdict WARN (2 more groups have trouble). To see why: kafka-groups why g",
    ]


@pytest.mark.usefixtures("people")
def test_people_at_a_terminal_get_the_note_behind_the_table(cluster: FakeCluster) -> None:
    add_lag_groups(cluster)
    assert run("lag", "-b", "b1:9092").stderr == f"{NOTE}{LOST} -b b1:9092\n"
    assert run("lag", "--top", "1").stderr == f"{NOTE}{LOST}\n"


@pytest.mark.usefixtures("people")
@pytest.mark.parametrize("output_format", ["csv", "json", "ndjson", "openmetrics"])
def test_formats_for_programs_have_no_note_on_trouble(cluster: FakeCluster, output_format: str) -> None:
    add_lag_groups(cluster)
    outcome = run("lag", "--format", output_format)
    assert outcome.stderr == NOTE
    assert "kafka-groups why" not in outcome.stdout


def test_mail_and_logs_get_no_note_on_trouble(cluster: FakeCluster) -> None:
    add_lag_groups(cluster)
    assert run("lag").stderr == NOTE


@pytest.mark.usefixtures("people")
def test_a_watch_repeats_the_note_only_for_another_group(cluster: FakeCluster, mocker: MockerFixture) -> None:
    cluster.add("a", commits={("t", 0): 10})
    cluster.add("b", state="Stable", members=[member("m", {"t": (0,)})], commits={("t", 0): 20})
    cluster.end("t", 100, starts=(0,))
    changes: list[Callable[[], object]] = [
        lambda: cluster.end("t", 110, starts=(0,)),
        lambda: cluster.add("b", commits={("t", 0): 5}),
    ]
    mocker.patch("kafka_groups.commands.lag_watch.pause", side_effect=lambda _seconds: changes.pop(0)())
    outcome = run("lag", "--watch", "1s", "--samples", "3")
    notes = [line for line in outcome.stderr.splitlines() if "To see why" in line]
    assert [note.split()[1] for note in notes] == ["'a'", "'b'"]
