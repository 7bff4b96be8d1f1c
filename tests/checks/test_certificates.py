"""Texts on certificates, and warnings on those that end soon."""

from __future__ import annotations

import pytest

from kafka_groups.admin.network.tls_evidence import Certificate, TlsEvidence
from kafka_groups.checks.certificates import describe_chain, ends_soon

DAY_S = 86_400.0
NOW_S = 20_000 * DAY_S
OWN = Certificate("CN=b1,O=Example", "CN=ca", ("DNS:b1", "IP:10.0.0.1"), NOW_S - DAY_S, NOW_S + 90 * DAY_S)
CA = Certificate("CN=ca", "CN=ca", (), NOW_S - DAY_S, NOW_S + 900 * DAY_S)


def tls(*chain: Certificate) -> TlsEvidence:
    return TlsEvidence("TLSv1.3", "TLS_AES_256_GCM_SHA384", chain)


def test_the_chain_begins_with_the_certificate_of_the_broker() -> None:
    assert describe_chain((OWN, CA), NOW_S) == [
        "certificate CN=b1,O=Example for DNS:b1, IP:10.0.0.1, issued by CN=ca",
        "valid from 2024-10-03 to 2025-01-02 (90 days left)",
        "then CN=ca, valid from 2024-10-03 to 2027-03-23 (900 days left)",
    ]
    assert describe_chain((), NOW_S) == []


def test_many_names_are_cut_and_a_certificate_may_have_none() -> None:
    many = OWN._replace(names=tuple(f"DNS:b{number}" for number in range(7)), issuer=OWN.subject)
    assert describe_chain((many,), NOW_S)[0] == (
        "certificate CN=b1,O=Example for DNS:b0, DNS:b1, DNS:b2, DNS:b3, DNS:b4 and 2 more, issued by itself"
    )
    assert "for no host name" in describe_chain((OWN._replace(names=()),), NOW_S)[0]


@pytest.mark.parametrize(
    ("not_before_days", "not_after_days", "text"),
    [
        (-10, -3, "(ended 3 days ago)"),
        (-10, -0.5, "(ended less than 1 day ago)"),
        (-10, 0.5, "(less than 1 day left)"),
        (-10, 1.5, "(1 day left)"),
        (5, 10, "valid from 2024-10-09 on, to 2024-10-14: not yet"),
        (0, 1e9, "(1,000,000,000 days left)"),
    ],
)
def test_the_validity_is_relative_to_the_clock(not_before_days: float, not_after_days: float, text: str) -> None:
    certificate = OWN._replace(not_before_s=NOW_S + not_before_days * DAY_S, not_after_s=NOW_S + not_after_days * DAY_S)
    assert text in describe_chain((certificate,), NOW_S)[1]


@pytest.mark.parametrize(
    ("days", "warning"),
    [
        (30.5, None),
        (29.5, "the broker's certificate ends in 29 days; renew it"),
        (1.5, "the broker's certificate ends in 1 day; renew it"),
        (0.5, "the broker's certificate ends today; renew it"),
    ],
)
def test_a_certificate_that_ends_within_30_days_is_a_warning(days: float, warning: str | None) -> None:
    assert ends_soon(tls(OWN._replace(not_after_s=NOW_S + days * DAY_S), CA), NOW_S) == warning


def test_the_warning_names_a_certificate_of_the_chain() -> None:
    soon = CA._replace(not_after_s=NOW_S + 5.5 * DAY_S)
    assert ends_soon(tls(OWN, soon), NOW_S) == "certificate CN=ca ends in 5 days; renew it"
    assert ends_soon(tls(), NOW_S) is None
