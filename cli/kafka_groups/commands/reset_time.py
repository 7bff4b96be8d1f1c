"""The time of `reset --to-datetime`: ISO-8601 with an offset or the name of a zone, or milliseconds since 1970."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final, NamedTuple

from kafka_groups.numerals import BLANKS, to_ascii
from kafka_groups.suggestions import did_you_mean, nearest

WITHOUT_ZONE: Final = "the time was given without a zone, which means UTC"
_EXAMPLES: Final = "2026-11-23T10:00:00Z, 2026-11-23T10:00:00.000, or 2026-11-23T10:00 Europe/Berlin"
# Java's ZonedDateTime puts the zone in brackets, also behind an offset.
_ZONED: Final = r"(?P<time>.*[0-9Zz])(?: *\[(?P<bracketed>[^\]]*)\]| +(?P<named>[A-Za-z][^\[\]]*))"
# Milliseconds since 1970 have 13 digits from 2001 to 2286. ISO-8601 without dashes has 8.
_MILLISECONDS_DIGITS: Final = 13
_SECONDS_DIGITS: Final = 10
_DATE_DIGITS: Final = 8
# They need no time zone data.
_UTC_NAMES: Final = frozenset({"UTC", "GMT", "Z"})
# An abbreviation such as PST or IST may stand for several zones, so no other one is suggested for it.
_ABBREVIATION: Final = r"[A-Za-z]{1,5}"
_OFFSET_OF_UTC: Final = r"(?:UTC|GMT)(?P<sign>[+-])(?P<hours>[0-9]{1,2})(?::?(?P<minutes>[0-9]{2}))?"
# No record is older, and no later time is meant.
_FIRST_YEAR: Final = 1969
_LAST_YEAR: Final = 9998
_EPOCH: Final = datetime.fromtimestamp(0, UTC)


class ParsedTime(NamedTuple):
    """A time in milliseconds since 1970, and how its text was read where the text alone does not show it."""

    time_ms: int
    reading: str


def parse_time(text: str) -> ParsedTime:
    """Return the time in a text. Raises ValueError, whose text follows the option, for other text."""
    stripped = text.strip(BLANKS)
    plain = to_ascii(stripped)
    if not stripped.isascii() or (plain != stripped and plain.isdigit()):
        hint = f"write {plain}" if plain.isascii() else f"write for example {_EXAMPLES}"
        msg = f"{text!r} is not a time; {hint}"
        raise ValueError(msg)
    if stripped.isdigit() and len(stripped) != _DATE_DIGITS:
        return ParsedTime(_parse_digits(stripped), "the time was read as milliseconds since 1970")
    zoned = re.fullmatch(_ZONED, stripped)
    name = (zoned["bracketed"] or zoned["named"] or "").strip() if zoned else ""
    parsed = _parse_iso(zoned["time"].strip() if zoned else stripped, text)
    if zoned:
        return _in_zone(text, parsed, name)
    if parsed.tzinfo is None:
        return ParsedTime(_milliseconds(parsed, UTC), WITHOUT_ZONE)
    return ParsedTime(_milliseconds(parsed, parsed.tzinfo), "")


def _parse_digits(digits: str) -> int:
    if len(digits) == _MILLISECONDS_DIGITS:
        return int(digits)
    msg = f"'{digits}' has {len(digits)} digits, and milliseconds since 1970 have {_MILLISECONDS_DIGITS}"
    if len(digits) == _SECONDS_DIGITS:
        msg = f"'{digits}' may be seconds since 1970; write milliseconds: {digits}000"
    elif len(digits) > _MILLISECONDS_DIGITS and (len(digits) - _MILLISECONDS_DIGITS) % 3 == 0:
        msg = f"{msg}; write {digits[:_MILLISECONDS_DIGITS]}"
    else:
        msg = f"{msg}; write for example {_EXAMPLES}"
    raise ValueError(msg)


def _parse_iso(time: str, text: str) -> datetime:
    try:
        return datetime.fromisoformat(time)
    except ValueError as error:
        msg = f"{text!r} is not a time; write for example {_EXAMPLES}"
        raise ValueError(msg) from error


def _milliseconds(time: datetime, zone: tzinfo) -> int:
    return round((time.replace(tzinfo=zone) - _EPOCH) / timedelta(milliseconds=1))


def _in_zone(text: str, time: datetime, name: str) -> ParsedTime:
    zone = _find_zone(text, name)
    if not _FIRST_YEAR <= time.year <= _LAST_YEAR:
        # Python cannot convert the first and the last days of its calendar.
        return ParsedTime(_milliseconds(time, UTC), "")
    if time.tzinfo is not None:
        _require_offset(text, time, zone, name)
        return ParsedTime(_milliseconds(time, time.tzinfo), "")
    earlier, later = (time.replace(tzinfo=zone, fold=fold) for fold in (0, 1))
    if earlier.utcoffset() != later.utcoffset():
        exists = earlier.astimezone(UTC).astimezone(zone).replace(tzinfo=None) == time
        problem = "occurs twice in" if exists else "does not exist in"
        ways = " or ".join(time.isoformat() + _offset(each) for each in (earlier, later))
        msg = f"{text!r} {problem} {name}, because the clocks change; write {ways}"
        raise ValueError(msg)
    return ParsedTime(_milliseconds(time, zone), f"the time was read in {name}, at {_offset(earlier)}")


def _find_zone(text: str, name: str) -> tzinfo:
    if name.upper() in _UTC_NAMES:
        return UTC
    # Reading the names of all zones takes some milliseconds, and most times have no zone name.
    from zoneinfo import ZoneInfo, available_timezones

    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        known = available_timezones()
        if known:
            hint = _suggest(name, known) or "; write a name such as Europe/Berlin, or an offset such as +01:00"
            msg = f"{text!r}: there is no time zone '{name}'{hint}"
        else:
            msg = (
                f"{text!r}: this machine has no data on time zones; install the package tzdata (of the system, or with "
                "pip), or write an offset such as +01:00"
            )
        raise ValueError(msg) from error


def _suggest(name: str, known: set[str]) -> str:
    """Return a suggestion for an unknown zone: an offset, the zone of a city, or the nearest name; or nothing."""
    if offset := re.fullmatch(_OFFSET_OF_UTC, name, re.IGNORECASE):
        # The zone Etc/GMT+2 has the offset -02:00.
        return f"; write the offset {offset['sign']}{offset['hours']:>02}:{offset['minutes'] or '00'}"
    if "/" in name:
        return did_you_mean(name, known)
    cities = {zone.rpartition("/")[2].lower(): zone for zone in sorted(known, reverse=True)}
    city = name.replace(" ", "_").lower()
    if re.fullmatch(_ABBREVIATION, name) is None:
        city = nearest(city, cities) or city
    return f"; did you mean '{cities[city]}'?" if city in cities else ""


def _require_offset(text: str, time: datetime, zone: tzinfo, name: str) -> None:
    """Raise ValueError if the zone has another offset at the time than the text."""
    local = time.astimezone(zone)
    if local.utcoffset() != time.utcoffset():
        msg = f"{text!r} contradicts itself: {name} has the offset {_offset(local)} at that time; write one of them"
        raise ValueError(msg)


def _offset(time: datetime) -> str:
    """Return the offset of a time as ISO-8601 spells it, such as +01:00."""
    return time.replace(microsecond=0).isoformat()[len("2026-11-23T10:00:00") :]
