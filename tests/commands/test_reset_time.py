"""The time of `reset --to-datetime`: milliseconds since 1970, and times in zones that have a name."""

from __future__ import annotations

import zoneinfo
from datetime import UTC, datetime

import pytest

from kafka_groups.commands.reset_time import parse_time
from tests.fakes.command_line import run
from tests.fakes.fake_admin import FakeCluster


def utc(text: str) -> str:
    """Return a time of the option in UTC."""
    return datetime.fromtimestamp(parse_time(text).time_ms / 1000, UTC).isoformat(timespec="seconds")


def refusal(text: str) -> str:
    """Return the error for a time of the option."""
    with pytest.raises(ValueError, match=r".") as caught:
        parse_time(text)
    return str(caught.value)


def test_thirteen_digits_are_milliseconds_since_1970_and_the_note_says_so(cluster: FakeCluster) -> None:
    cluster.end("t", 100, starts=(0,))
    cluster.add("a", state="Empty", commits={("t", 0): 60})
    outcome = run("reset", "a", "--topic", "t", "--to-datetime", "1764000000000")
    assert outcome.exit_code == 0
    assert outcome.stderr.startswith(
        "New offsets are those of the first records since 2025-11-24T16:00:00.000Z; "
        "the time was read as milliseconds since 1970.\n"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1764000000", "'1764000000' may be seconds since 1970; write milliseconds: 1764000000000"),
        ("1764000000000000", "has 16 digits, and milliseconds since 1970 have 13; write 1764000000000"),
        ("1764000000000000000", "has 19 digits, and milliseconds since 1970 have 13; write 1764000000000"),
        (
            "20261123100000",
            "has 14 digits, and milliseconds since 1970 have 13; write for example 2026-11-23T10:00:00Z",
        ),
        ("202611231100000", "has 15 digits, and milliseconds since 1970 have 13; write for example"),
        ("17640000000", "has 11 digits, and milliseconds since 1970 have 13; write for example"),
        ("1_764_000_000_000", "'1_764_000_000_000' is not a time; write 1764000000000"),
        ("١٧٦٤٠٠٠٠٠٠٠٠٠", "is not a time; write 1764000000000"),
        ("-1764000000000", "is not a time; write for example"),
        ("1764000000000.5", "is not a time; write for example"),
        ("2026-11-2٣T09:00", "is not a time; write 2026-11-23T09:00"),
        ("2026-11-23T09:00\u2009Uhr", "is not a time; write for example"),
    ],
)
def test_other_digits_are_refused_with_the_text_to_write(text: str, message: str) -> None:
    assert message in refusal(text)


def test_eight_digits_are_a_date() -> None:
    assert utc("20261123") == "2026-11-23T00:00:00+00:00"


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-11-22T09:00 Europe/Berlin", "2026-11-22T08:00:00+00:00"),
        ("2026-11-22T09:00[Europe/Berlin]", "2026-11-22T08:00:00+00:00"),
        ("2026-07-22 09:00:30.5  Europe/Berlin ", "2026-07-22T07:00:30+00:00"),
        ("2026-11-22T09:00+01:00[Europe/Berlin]", "2026-11-22T08:00:00+00:00"),
        ("2026-10-25T02:30+01:00[Europe/Berlin]", "2026-10-25T01:30:00+00:00"),
        ("2026-10-25T02:30+02:00[Europe/Berlin]", "2026-10-25T00:30:00+00:00"),
        ("2026-11-22 Asia/Kolkata", "2026-11-21T18:30:00+00:00"),
        ("2026-11-22T09:00 America/Argentina/Buenos_Aires", "2026-11-22T12:00:00+00:00"),
        ("2026-11-22T09:00 UTC", "2026-11-22T09:00:00+00:00"),
        ("2026-11-22T09:00Z[UTC]", "2026-11-22T09:00:00+00:00"),
        ("2026-11-22T09:00 Etc/GMT+2", "2026-11-22T11:00:00+00:00"),
    ],
)
def test_a_time_may_name_its_zone(text: str, time: str) -> None:
    assert utc(text) == time


def test_the_note_has_the_zone_and_its_offset() -> None:
    assert parse_time("2026-07-22T09:00 Europe/Berlin").reading == "the time was read in Europe/Berlin, at +02:00"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "2026-10-25T02:30 Europe/Berlin",
            (
                "occurs twice in Europe/Berlin, because the clocks change; "
                "write 2026-10-25T02:30:00+02:00 or 2026-10-25T02:30:00+01:00"
            ),
        ),
        (
            "2026-03-29T02:30[Europe/Berlin]",
            (
                "does not exist in Europe/Berlin, because the clocks change; "
                "write 2026-03-29T02:30:00+01:00 or 2026-03-29T02:30:00+02:00"
            ),
        ),
        (
            "2026-11-22T09:00+02:00[Europe/Berlin]",
            "contradicts itself: Europe/Berlin has the offset +01:00 at that time; write one of them",
        ),
    ],
)
def test_a_time_that_the_zone_does_not_have_once_is_refused(text: str, message: str) -> None:
    assert refusal(text) == f"{text!r} {message}"


def test_the_offsets_of_a_refusal_can_be_written() -> None:
    assert utc("2026-10-25T02:30:00+02:00") == "2026-10-25T00:30:00+00:00"
    assert utc("2026-10-25T01:59:59 Europe/Berlin") == "2026-10-24T23:59:59+00:00"
    assert utc("2026-10-25T03:00 Europe/Berlin") == "2026-10-25T02:00:00+00:00"


@pytest.mark.parametrize(
    ("zone", "hint"),
    [
        ("europe/berlin", "did you mean 'Europe/Berlin'?"),
        ("Europe/Berln", "did you mean 'Europe/Berlin'?"),
        ("Berlin", "did you mean 'Europe/Berlin'?"),
        ("New York", "did you mean 'America/New_York'?"),
        ("GMT+2", "write the offset +02:00"),
        ("UTC-0330", "write the offset -03:30"),
        ("PST", "write a name such as Europe/Berlin, or an offset such as +01:00"),
        ("Europe", "write a name such as Europe/Berlin, or an offset such as +01:00"),
        ("Nowhere/Atall", "write a name such as Europe/Berlin, or an offset such as +01:00"),
    ],
)
def test_an_unknown_zone_is_refused_with_the_nearest_one(zone: str, hint: str) -> None:
    text = f"2026-11-22T09:00 {zone}"
    assert refusal(text) == f"{text!r}: there is no time zone '{zone}'; {hint}"


@pytest.mark.parametrize("zone", ["../etc/passwd", "a/../../b", "a\0b", "posixrules/", "Europe/"])
def test_a_path_is_no_zone(zone: str) -> None:
    assert "is not a time" in refusal(f"2026-11-22T09:00 {zone}") or "there is no time zone" in refusal(
        f"2026-11-22T09:00 {zone}"
    )


def test_without_data_on_time_zones_the_error_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_none(key: str) -> None:
        raise zoneinfo.ZoneInfoNotFoundError(key)

    monkeypatch.setattr(zoneinfo, "ZoneInfo", find_none)
    monkeypatch.setattr(zoneinfo, "available_timezones", set)
    assert refusal("2026-11-22T09:00 Europe/Berlin") == (
        "'2026-11-22T09:00 Europe/Berlin': this machine has no data on time zones; install the package tzdata (of the "
        "system, or with pip), or write an offset such as +01:00"
    )
    assert utc("2026-11-22T09:00 UTC") == "2026-11-22T09:00:00+00:00"


@pytest.mark.parametrize("text", ["0001-01-01 Europe/Berlin", "1969-12-31T23:59 UTC"])
def test_a_time_before_1970_in_a_zone_is_refused(text: str) -> None:
    outcome = run("reset", "a", "--topic", "t", "--to-datetime", text)
    assert outcome.exit_code == 2
    assert f"--to-datetime '{text}' is before 1970" in outcome.stderr


@pytest.mark.parametrize("text", ["9999-12-31T23:59-10:00[Europe/Berlin]", "9999-12-31 Asia/Tokyo", "9999999999999"])
def test_a_time_in_the_future_is_refused(text: str) -> None:
    outcome = run("reset", "a", "--topic", "t", "--to-datetime", text)
    assert outcome.exit_code == 2
    assert f"--to-datetime '{text}' is in the future" in outcome.stderr
