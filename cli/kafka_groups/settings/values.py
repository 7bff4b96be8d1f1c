"""Values of settings: durations, bootstrap servers, security protocols."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from kafka_groups.errors import SettingsError
from kafka_groups.numerals import BLANKS, to_ascii

DEFAULT_PORT = 9092
_LAST_PORT = 65_535
PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
# The value of client.dns.lookup for bootstrap servers that are aliases.
CANONICAL_NAMES = "resolve_canonical_bootstrap_servers_only"
# The versions that Kafka's clients enable by default, the older one first.
TLS_VERSIONS: Final = ("TLSv1.2", "TLSv1.3")
# No command runs for longer, and the system calls that wait accept no unlimited time.
LONGEST_S = 365 * 86_400.0

# The names of the variables of the environment that are settings begin with it.
VARIABLE_PREFIX: Final = "KAFKA_GROUPS_"
# A value of a config provider (KIP-297), which stays as it is if no provider has it.
VARIABLE: Final = re.compile(r"\$\{[^}]*:[^}]*\}")
_DURATION = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)(?P<unit>ms|s|m|h|d)")
# Compiled at its first use: few durations are written so.
_ISO_DURATION = r"(?ia)P(?:(?P<d>\d+)D)?(?:T(?:(?P<h>\d+)H)?(?:(?P<m>\d+)M)?(?:(?P<s>\d+(?:\.\d+)?)S)?)?"
_UNIT_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_ENDPOINT = re.compile(
    r"(?:(?P<scheme>[A-Za-z_]+)://)?"
    r"(?:\[(?P<v6>[^\s\[\]]+)\]|(?P<host>[^\s:/\[\],;=@\"'`|\\(){}<>]+))(?::(?P<port>[0-9]{1,5}))?"
)
_EXAMPLE: Final = "write host:port, for example localhost:9092 or [::1]:9092"
# What people paste around or between servers, and why it does not belong there.
_QUOTES: Final = re.compile(r"[\"'`]")
_SEPARATORS: Final = re.compile(r"[;|\s]+")
_BRACKETS: Final = re.compile(r"\[(?P<inside>[^\[\]]*)\]|[\[\]]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Endpoint:
    """A host and a port. An IPv6 address has no brackets here."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_duration(text: str, *, longest_s: float = LONGEST_S) -> float:
    """Return the seconds of a duration: `500ms`, `30s`, `10m`, `2h`, `1d` or ISO-8601 `PT10M`.

    Raises ValueError, with an example, for other text and for durations above `longest_s` seconds.
    """
    seconds = _seconds(text.strip(BLANKS))
    if seconds is None:
        plain = to_ascii(text).strip()
        hint = " (a number needs a unit)" if plain.replace(".", "", 1).isdigit() else ""
        example = "for example 30s or 500ms" if _seconds(plain) is None else plain
        msg = f"'{text}' is not a duration{hint}; write {example}"
        raise ValueError(msg)
    if seconds > longest_s:
        shown = text if len(text) <= len("365d") * 4 else f"{text[:13]}…"
        msg = f"'{shown}' is too long; {longest_s / _UNIT_S['d']:g}d is the longest"
        raise ValueError(msg)
    return seconds


def parse_bootstrap(text: str, *, protocol: str | None = None) -> tuple[Endpoint, ...]:
    """Return the endpoints of `host:port,host:port`; a missing port is 9092, `[::1]:9092` is IPv6.

    Before a host may stand `SSL://` or another security protocol, which must be equal to `protocol` if that is given.
    Raises SettingsError for an empty list and for an endpoint that cannot be parsed.
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    try:
        endpoints = tuple(_parse_endpoint(part, protocol) for part in parts)
    except SettingsError:
        _refuse_pasted(text, protocol)
        raise
    if not endpoints:
        raise SettingsError("the bootstrap server list is empty; write host:port, for example -b localhost:9092")
    return endpoints


def is_utf8(text: str) -> bool:
    """Return whether the text can be encoded in UTF-8; command-line arguments in another encoding cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def hint_of_variable(text: str) -> str:
    """Return that a value has a variable that was not replaced, as the end of an error; empty if it has none."""
    return "; no config provider replaced its variable ${…}; check config.providers" if VARIABLE.search(text) else ""


def _seconds(text: str) -> float | None:
    plain = _DURATION.fullmatch(text)
    if plain:
        return float(plain["number"]) * _UNIT_S[plain["unit"]]
    iso = re.fullmatch(_ISO_DURATION, text)
    if iso and any(iso.groups()):
        return sum(float(iso[unit] or 0) * _UNIT_S[unit] for unit in "dhms")
    return None


def _parse_endpoint(text: str, protocol: str | None) -> Endpoint:
    match = _ENDPOINT.fullmatch(text)
    port = int(match["port"]) if match and match["port"] else DEFAULT_PORT
    if not match or not 0 < port <= _LAST_PORT or (match["v6"] and not _is_ipv6(match["v6"])):
        host, _, number = text.rpartition(":")
        plain = f"{host}:{to_ascii(number)}"
        example = f"write {plain}" if plain != text and _is_endpoint(plain, protocol) else _EXAMPLE
        msg = f"'{text}' is not a bootstrap server; {example}"
        raise SettingsError(msg)
    if match["scheme"]:
        _check_scheme(text, match["scheme"].upper(), protocol)
    return Endpoint(host=match["v6"] or match["host"], port=port)


def _is_endpoint(text: str, protocol: str | None) -> bool:
    try:
        _parse_endpoint(text, protocol)
    except SettingsError:
        return False
    return True


def _is_ipv6(text: str) -> bool:
    # Imported here, as most addresses have no brackets.
    from ipaddress import AddressValueError, IPv6Address

    address, _, zone = text.partition("%")
    try:
        IPv6Address(address)
    except AddressValueError:
        return False
    return bool(zone) == ("%" in text)


def _refuse_pasted(text: str, protocol: str | None) -> None:
    """Raise SettingsError for a list with quotes, brackets or other separators; the error has the list without them.

    It returns if the text is not a list even then, or if that list would be refused, too.
    """
    if "@" in text:
        # The text may have a password, so it is not repeated.
        msg = (
            "a bootstrap server has no user name before an @; write host:port, and set sasl.username and sasl.password"
        )
        raise SettingsError(msg)
    reasons = [
        reason
        for is_found, reason in (
            (_QUOTES.search(text), "it has quotes"),
            (_BRACKETS.sub(_without_brackets, text) != text, "only an IPv6 address has brackets"),
            (_SEPARATORS.search(text.strip()), "commas separate servers"),
            ("/," in f"{text.strip()},", "a slash follows the port"),
        )
        if is_found
    ]
    plain = _BRACKETS.sub(_without_brackets, _QUOTES.sub("", text))
    parts = [part.rstrip("/") for part in _SEPARATORS.sub(",", plain).split(",") if part]
    matches = [_ENDPOINT.fullmatch(part) for part in parts]
    schemes = {match["scheme"] for match in matches if match and match["scheme"]}
    unsupported = [f"{scheme}://" for scheme in sorted(schemes) if scheme.upper() not in PROTOCOLS]
    servers = [_without_prefixes(part, unsupported) for part in parts]
    if not reasons or not all(
        match and match["port"] and _is_endpoint(server, protocol)
        for match, server in zip(matches, servers, strict=True)
    ):
        return
    reasons += [f"{scheme} is not supported" for scheme in unsupported]
    msg = f"'{text.strip()}' is not a list of bootstrap servers: {' and '.join(reasons)}; write {','.join(servers)}"
    raise SettingsError(msg)


def _without_prefixes(text: str, prefixes: Iterable[str]) -> str:
    return next((text.removeprefix(prefix) for prefix in prefixes if text.startswith(prefix)), text)


def _without_brackets(match: re.Match[str]) -> str:
    inside = match["inside"] or ""
    return match[0] if _is_ipv6(inside) else inside


def _check_scheme(text: str, scheme: str, protocol: str | None) -> None:
    if scheme not in PROTOCOLS:
        msg = f"'{text}': {scheme}:// is not supported; write host:port, SSL://host:port or SASL_SSL://host:port"
        raise SettingsError(msg)
    if protocol is not None and scheme != protocol:
        msg = f"'{text}' contradicts security.protocol={protocol}; set it to {scheme}, or remove {scheme}://"
        raise SettingsError(msg)
