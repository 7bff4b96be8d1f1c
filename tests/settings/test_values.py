"""Values of settings: durations and bootstrap servers."""

from __future__ import annotations

import pytest

from kafka_groups.errors import SettingsError
from kafka_groups.settings import Endpoint, parse_bootstrap, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30s", 30.0),
        ("500ms", 0.5),
        ("1.5s", 1.5),
        ("10m", 600.0),
        ("2h", 7200.0),
        ("1d", 86400.0),
        (" 7s ", 7.0),
        ("0s", 0.0),
        ("PT10M", 600.0),
        ("pt1h30m", 5400.0),
        ("P1DT2H", 93600.0),
        ("PT0.5S", 0.5),
    ],
)
def test_a_duration_is_parsed_with_its_unit(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["30", "1.5", "0"])
def test_a_number_without_a_unit_is_rejected_with_two_examples(text: str) -> None:
    with pytest.raises(
        ValueError, match=r"is not a duration \(a number needs a unit\); write for example 30s or 500ms"
    ):
        parse_duration(text)


@pytest.mark.parametrize("text", ["", "s", "-5s", "5 s", "5sec", "five", "P", "PT", "P1M", "1h30m", "1e3s", "∞s"])
def test_text_that_is_not_a_duration_is_rejected_with_two_examples(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration; write for example 30s or 500ms"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "endpoints"),
    [
        ("b", ["b:9092"]),
        ("b:1", ["b:1"]),
        ("a:1,b:2", ["a:1", "b:2"]),
        (" a:1 , b:2 ,", ["a:1", "b:2"]),
        ("10.0.0.1:65535", ["10.0.0.1:65535"]),
        ("[::1]:9093", ["[::1]:9093"]),
        ("[fe80::1%eth0]", ["[fe80::1%eth0]:9092"]),
        ("PLAINTEXT://b:1", ["b:1"]),
        ("SSL://[2001:db8::1]:1,plaintext://c", ["[2001:db8::1]:1", "c:9092"]),
        ("kafka_1.internal-net:9092", ["kafka_1.internal-net:9092"]),
    ],
)
def test_bootstrap_servers_are_parsed_in_all_their_spellings(text: str, endpoints: list[str]) -> None:
    assert [str(endpoint) for endpoint in parse_bootstrap(text)] == endpoints


def test_an_ipv6_address_has_no_brackets_in_an_endpoint() -> None:
    assert parse_bootstrap("[::1]:9093") == (Endpoint(host="::1", port=9093),)


@pytest.mark.parametrize(
    "text", ["b:0", "b:65536", "b:", "b:x", ":9092", "::1", "a b:1", "b:1/x", "[]:1", "b:-1", "[b"]
)
def test_text_that_is_not_a_bootstrap_server_is_rejected_with_examples(text: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse_bootstrap(text)
    assert str(caught.value) == (
        f"'{text}' is not a bootstrap server; write host:port, for example localhost:9092 or [::1]:9092"
    )


@pytest.mark.parametrize(
    ("text", "reason", "servers"),
    [
        ("[kafka1:9092]", "only an IPv6 address has brackets", "kafka1:9092"),
        ("[kafka1]:9092", "only an IPv6 address has brackets", "kafka1:9092"),
        ("[10.0.0.1]:9092", "only an IPv6 address has brackets", "10.0.0.1:9092"),
        ("[dead.beef:9092]", "only an IPv6 address has brackets", "dead.beef:9092"),
        ("[a:1, b:2]", "only an IPv6 address has brackets and commas separate servers", "a:1,b:2"),
        ("[[::1]:9092]", "only an IPv6 address has brackets", "[::1]:9092"),
        ('["a:1","b:2"]', "it has quotes and only an IPv6 address has brackets", "a:1,b:2"),
        ("'a:1,b:2'", "it has quotes", "a:1,b:2"),
        ('"a":1', "it has quotes", "a:1"),
        ("a:1 b:2\nc:3", "commas separate servers", "a:1,b:2,c:3"),
        ("a:1; b:2;", "commas separate servers", "a:1,b:2"),
        ("SSL://a:1/,b:2", "a slash follows the port", "SSL://a:1,b:2"),
        ("http://a:9092/", "a slash follows the port and http:// is not supported", "a:9092"),
        ("kafka://a:9092;b:9092", "commas separate servers and kafka:// is not supported", "a:9092,b:9092"),
        (
            "http://a:1/,HTTPS://b:2/",
            "a slash follows the port and HTTPS:// is not supported and http:// is not supported",
            "a:1,b:2",
        ),
        ("PLAINTEXT://[a:1]", "only an IPv6 address has brackets", "PLAINTEXT://a:1"),
    ],
)
def test_the_error_of_a_pasted_list_has_the_list_to_write(text: str, reason: str, servers: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse_bootstrap(text)
    assert str(caught.value) == f"'{text}' is not a list of bootstrap servers: {reason}; write {servers}"
    assert ",".join(map(str, parse_bootstrap(servers))) == servers.replace("SSL://", "").replace("PLAINTEXT://", "")


@pytest.mark.parametrize(
    ("text", "protocol"),
    [
        ("a:99999;b:9092", None),
        ("a:9092/,b:0/", None),
        ("a:1;[::1%]:1", None),
        ("kafka://a:0;b:1", None),
        ("SSL://a:1/", "PLAINTEXT"),
        ("a:\uff19\uff19\uff19\uff19\uff19", None),
        ("ssl://a:\uff19", "PLAINTEXT"),
        ("http://a:\uff19", None),
    ],
)
def test_no_error_suggests_a_list_that_is_refused(text: str, protocol: str | None) -> None:
    with pytest.raises(SettingsError, match="' is not a bootstrap server; write host:port, for example localhost:9092"):
        parse_bootstrap(text, protocol=protocol)


@pytest.mark.parametrize("text", ["me:hidden-thing@b:9092", "SASL_SSL://me:hidden-thing@b:9092", "a:1,me@b:1"])
def test_the_error_of_a_server_with_a_user_name_shows_no_password(text: str) -> None:
    with pytest.raises(SettingsError, match="a bootstrap server has no user name before an @") as caught:
        parse_bootstrap(text)
    assert "hidden-thing" not in str(caught.value)


@pytest.mark.parametrize("text", ["[kafka1]", "[::1%]:1", "${HOST}:9092", "bootstrap.servers=b:1", "a;b", "[a:1,b]"])
def test_text_that_only_looks_like_a_server_is_rejected(text: str) -> None:
    with pytest.raises(SettingsError, match="' is not a bootstrap server; write host:port"):
        parse_bootstrap(text)


@pytest.mark.parametrize("scheme", ["http", "SASL", "kafka"])
def test_an_unsupported_scheme_is_rejected(scheme: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse_bootstrap(f"a:1,{scheme}://b:1")
    assert str(caught.value) == (
        f"'{scheme}://b:1': {scheme.upper()}:// is not supported; "
        "write host:port, SSL://host:port or SASL_SSL://host:port"
    )


@pytest.mark.parametrize(("scheme", "protocol"), [("SSL", "PLAINTEXT"), ("PLAINTEXT", "SSL")])
def test_a_scheme_that_contradicts_the_security_protocol_is_rejected(scheme: str, protocol: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse_bootstrap(f"{scheme.lower()}://b:1", protocol=protocol)
    assert str(caught.value) == (
        f"'{scheme.lower()}://b:1' contradicts security.protocol={protocol}; set it to {scheme}, or remove {scheme}://"
    )
    assert parse_bootstrap(f"{scheme}://b:1", protocol=scheme) == (Endpoint(host="b", port=1),)


@pytest.mark.parametrize("text", ["366d", "99999d", "PT99999999H", f"{'9' * 22}d", f"{'9' * 500}s"])
def test_a_duration_of_more_than_a_year_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="is too long; 365d is the longest") as caught:
        parse_duration(text)
    assert len(str(caught.value)) < 80


def test_a_year_is_the_longest_duration() -> None:
    assert parse_duration("365d") == 31_536_000.0


@pytest.mark.parametrize("text", [",", " ", ",,"])
def test_an_empty_list_of_bootstrap_servers_is_rejected(text: str) -> None:
    with pytest.raises(SettingsError, match="the bootstrap server list is empty"):
        parse_bootstrap(text)
