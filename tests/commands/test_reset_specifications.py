"""`kafka-groups reset`: its specifications and scopes on the command line, and which of them are usage errors."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from kafka_groups.admin import OffsetSpec
from kafka_groups.model import TopicPartition
from tests.commands.change_commands import EXECUTE, changes, journal_files, last_run
from tests.fakes.command_line import Outcome, run
from tests.fakes.fake_admin import FakeCluster

if TYPE_CHECKING:
    from pytest_mock import MockerFixture

NOON_MS = 1_795_435_200_000
NOON = "2026-11-23T12:00:00"


@pytest.fixture(autouse=True)
def one_group(cluster: FakeCluster, mocker: MockerFixture) -> None:
    """Add `a` with a commit on `t`, whose log is 10 to 100; it is noon."""
    cluster.end("t", 100, starts=(10,))
    cluster.end("u", 5, starts=(0,))
    cluster.add("a", commits={("t", 0): 60, ("u", 0): 2})
    mocker.patch("kafka_groups.commands.reset_options.time.time_ns", return_value=NOON_MS * 1_000_000)


def reset(*arguments: str) -> Outcome:
    """Plan a reset of `a` on `t` as ndjson."""
    return run("reset", "a", "--topic", "t", *arguments, "--format", "ndjson")


def new_offset(*arguments: str) -> tuple[int, str | None]:
    """Return the new offset of `t`, and its note."""
    row = json.loads(reset(*arguments).stdout)
    return row["new_offset"], row["note"]


def times(cluster: FakeCluster) -> list[int]:
    """Return the timestamps that were looked up."""
    specs: list[OffsetSpec] = [
        call.kwargs.get("spec", OffsetSpec.latest()) for call in cluster.admin.list_offsets.mock_calls
    ]
    return [spec.timestamp for spec in specs if spec.timestamp >= 0]


@pytest.mark.parametrize(
    ("specification", "target"),
    [
        (("--to-offset", "20"), (20, None)),
        (("--to-offset", "0"), (10, "clamped from 0 to the log start offset")),
        (("--to-offset", str(2**63 - 1)), (100, f"clamped from {2**63 - 1} to the log end offset")),
        (("--to-earliest",), (10, None)),
        (("--to-latest",), (100, None)),
        (("--to-current",), (60, "unchanged")),
        (("--shift-by", "-20"), (40, None)),
        (("--shift-by=-1000",), (10, "clamped from -940 to the log start offset")),
        (("--shift-by", "1000"), (100, "clamped from 1060 to the log end offset")),
        (("--by-duration", "2h"), (42, None)),
        (("--to-datetime", "2026-11-23T10:00:00Z"), (42, None)),
        (("--to-group", "other"), (77, None)),
    ],
)
def test_each_specification_has_its_new_offset(
    cluster: FakeCluster, specification: tuple[str, ...], target: tuple[int, str | None]
) -> None:
    cluster.found[TopicPartition("t", 0)] = 42
    cluster.add("other", commits={("t", 0): 77})
    assert new_offset(*specification) == target


@pytest.mark.parametrize(
    ("text", "time_ms", "is_utc_assumed"),
    [
        ("2026-11-23T10:00:00", NOON_MS - 7_200_000, True),
        ("2026-11-23T10:00:00.250", NOON_MS - 7_199_750, True),
        ("2026-11-23T10:00:00Z", NOON_MS - 7_200_000, False),
        ("2026-11-23T10:00:00.250Z", NOON_MS - 7_199_750, False),
        ("2026-11-23T10:00:00+01:00", NOON_MS - 10_800_000, False),
        ("2026-11-23T10:00:00.250-0130", NOON_MS - 1_799_750, False),
        (" 2026-11-23 10:00 ", NOON_MS - 7_200_000, True),
        ("2026-11-23", NOON_MS - 43_200_000, True),
        ("1970-01-01T00:00:00Z", 0, False),
        (f"{NOON}Z", NOON_MS, False),
    ],
)
def test_a_time_may_have_a_zone_and_milliseconds(
    cluster: FakeCluster, text: str, time_ms: int, is_utc_assumed: bool
) -> None:
    cluster.found[TopicPartition("t", 0)] = 42
    outcome = reset("--to-datetime", text)
    assert (outcome.exit_code, times(cluster)) == (0, [time_ms])
    (note, *_) = outcome.stderr.splitlines()
    assert note.startswith("New offsets are those of the first records since ")
    assert note.endswith("; the time was given without a zone, which means UTC.") == is_utc_assumed


def test_the_note_on_a_time_is_in_utc() -> None:
    outcome = reset("--to-datetime", "2026-11-23T10:00:00.5+01:00")
    assert outcome.stderr.startswith("New offsets are those of the first records since 2026-11-23T09:00:00.500Z.\n")


@pytest.mark.parametrize(
    ("text", "time_ms"),
    [
        ("2h", NOON_MS - 7_200_000),
        ("PT2H", NOON_MS - 7_200_000),
        ("P1D", NOON_MS - 86_400_000),
        ("P1DT1H", NOON_MS - 90_000_000),
        ("500ms", NOON_MS - 500),
        ("36500d", 0),
    ],
)
def test_a_duration_goes_back_from_now(cluster: FakeCluster, text: str, time_ms: int) -> None:
    cluster.found[TopicPartition("t", 0)] = 42
    assert reset("--by-duration", text).exit_code == 0
    assert times(cluster) == [max(0, time_ms)]


def test_a_time_without_a_record_since_is_the_log_end(cluster: FakeCluster) -> None:
    cluster.found[TopicPartition("t", 0)] = None
    assert new_offset("--by-duration", "1h") == (100, "no record since then: log end offset")


ERRORS = [
    (("--topic", "t"), "no specification is given; give one of --to-offset, "),
    (("--topic", "t", "--to-latest", "--to-earliest"), "--to-earliest contradicts --to-latest: give one"),
    (("--topic", "t", "--to-offset", "5", "--shift-by", "1"), "--to-offset contradicts --shift-by: give one"),
    (("--topic", "t", "--to-offset", "-1"), "'--to-offset': -1 is not in the range"),
    (("--topic", "t", "--to-offset", "x"), "'--to-offset': 'x' is not a whole number"),
    (("--topic", "t", "--to-offset", str(2**63)), f"'--to-offset': {2**63} is not in the range"),
    (("--topic", "t", "--shift-by", str(-(2**63))), "'--shift-by': "),
    (("--topic", "t", "--to-datetime", "yesterday"), "--to-datetime 'yesterday' is not a time; write for example"),
    (("--topic", "t", "--to-datetime", ""), "--to-datetime '' is not a time"),
    (("--topic", "t", "--to-datetime", "1795424400"), "'1795424400' may be seconds since 1970; write milliseconds"),
    (("--topic", "t", "--to-datetime", "2026-02-30T00:00:00Z"), "is not a time"),
    (("--topic", "t", "--to-datetime", f"{NOON}.001Z"), "is in the future"),
    (("--topic", "t", "--to-datetime", "2027-01-01T00:00"), "in the future (without a zone it is UTC)"),
    (("--topic", "t", "--to-datetime", "9999-12-31T23:59:59-23:59"), "is in the future"),
    (("--topic", "t", "--to-datetime", "1969-12-31T23:59:59Z"), "is before 1970, and no record has such a time"),
    (("--topic", "t", "--to-datetime", "0001-01-01T00:00:00+23:59"), "is before 1970"),
    (("--topic", "t", "--by-duration", "2"), "--by-duration: '2' is not a duration (a number needs a unit)"),
    (("--topic", "t", "--by-duration", "-2h"), "--by-duration: '-2h' is not a duration"),
    (("--topic", "t", "--by-duration", "99999999d"), "--by-duration: '99999999d' is too long; 36500d is the longest"),
    (("--to-latest",), "no partition is selected; give --topic T[:P,…], or --all-topics"),
    (("--topic", "t", "--all-topics", "--to-latest"), "--topic contradicts --all-topics: give one or the other"),
    (("--topic", "", "--to-latest"), "--topic '' cannot be parsed"),
    (("--topic", "t:", "--to-latest"), "--topic 't:': no partition is named after the colon"),
    (("--topic", "t:0:1", "--to-latest"), "--topic 't:0:1' cannot be parsed"),
    (("--topic", "t:-1", "--to-latest"), "'-1' is not a partition"),
    (("--topic", "t", "--to-latest", "--dry-run", "--execute"), "--execute contradicts --dry-run: give one"),
    (("--topic", "t", "--to-latest", "--yes"), "--yes is only for --execute"),
    (("--topic", "t", "--to-latest", "--execute"), "--execute needs --yes here, because stdin is not a terminal"),
    (("--topic", "t", "--to-latest", "--state", "Emty"), "--state 'Emty': unknown name 'Emty'; valid names are "),
    (("--topic", "t", "--to-latest", "--type", ","), "--type ',': the list is empty; valid names are "),
    (("--topic", "t", "--to-latest", "--export", ""), "--export needs the name of a file, or - for stdout"),
    (("--topic", "t", "--to-latest", "--export", "-", "--format", "json"), "--export - prints the plan in place of"),
]


@pytest.mark.parametrize(
    ("arguments", "text"), ERRORS, ids=lambda each: " ".join(each) if isinstance(each, tuple) else None
)
def test_a_contradiction_or_a_malformed_value_is_a_usage_error(
    cluster: FakeCluster, arguments: tuple[str, ...], text: str
) -> None:
    executing = () if {"--yes", "--execute", "--dry-run"} & set(arguments) else EXECUTE
    outcome = run("reset", "a", *arguments, *executing)
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert text in outcome.stderr
    assert outcome.stderr.count("\n") == 1
    assert (changes(cluster), journal_files()) == ([], [])
    cluster.admin.list_offsets.assert_not_called()


def test_a_reset_without_a_selector_is_a_usage_error() -> None:
    outcome = run("reset", "--topic", "t", "--to-latest", *EXECUTE)
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert "no group is selected" in outcome.stderr


def test_topics_are_repeatable_and_each_partition_is_planned_once() -> None:
    arguments = ("--topic", "u:0", "--topic", "t", "--topic", "t:0", "--topic", "u")
    rows = run("reset", "a", *arguments, "--to-latest", "--format", "csv").stdout.splitlines()[1:]
    assert rows == ["a,t,0,60,100,40,,planned", "a,u,0,2,5,3,,planned"]


def test_another_group_is_copied_without_a_scope(cluster: FakeCluster) -> None:
    cluster.add("other", commits={("t", 0): 77})
    outcome = run("reset", "a", "--to-group", "other", "--format", "csv")
    assert (outcome.exit_code, outcome.stdout.splitlines()[1:]) == (0, ["a,t,0,60,77,17,,planned"])


@pytest.mark.parametrize("name", ["absent", ""])
def test_an_absent_group_to_copy_from_is_exit_1(name: str) -> None:
    outcome = run("reset", "a", "--to-group", name, *EXECUTE)
    assert (outcome.exit_code, outcome.stdout) == (1, "")
    assert f"Error: group '{name}': there is no such group" in outcome.stderr
    assert (last_run().plan.changes, last_run().failures) == ((), 1)
