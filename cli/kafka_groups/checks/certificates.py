"""What a TLS connection shows, as text, and whether a certificate ends soon."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kafka_groups.admin.network.tls_evidence import Certificate, TlsEvidence

# A certificate that ends within this time is a warning.
WARNING_DAYS: Final = 30
_DAY_S: Final = 86_400.0
_MAX_NAMES: Final = 5


def describe_tls(tls: TlsEvidence, now_s: float) -> str:
    """Return protocol, cipher suite and certificates; `now_s` is the time in seconds since 1970."""
    parts = [f"{tls.protocol}, {tls.cipher}"] if tls.protocol else []
    return "; ".join([*parts, *describe_chain(tls.chain, now_s)])


def describe_chain(chain: tuple[Certificate, ...], now_s: float) -> list[str]:
    """Return the broker's certificate, its validity, and the certificates that follow it in the chain."""
    if not chain:
        return []
    own, *others = chain
    names = ", ".join(own.names[:_MAX_NAMES]) or "no host name"
    more = f" and {len(own.names) - _MAX_NAMES} more" if len(own.names) > _MAX_NAMES else ""
    issuer = "itself" if own.issuer == own.subject else own.issuer
    parts = [f"certificate {own.subject or 'without a subject'} for {names}{more}, issued by {issuer}"]
    parts.append(_describe_validity(own, now_s))
    parts += [f"then {each.subject}, {_describe_validity(each, now_s)}" for each in others]
    return parts


def ends_soon(tls: TlsEvidence, now_s: float) -> str | None:
    """Return a warning on the first certificate of the chain that ends within 30 days; None if there is none."""
    for certificate in tls.chain:
        if certificate.not_after_s - now_s < WARNING_DAYS * _DAY_S:
            days = _days_left(certificate, now_s)
            whose = "the broker's certificate" if certificate is tls.chain[0] else f"certificate {certificate.subject}"
            return f"{whose} ends {'today' if days < 1 else f'in {_count_days(days)}'}; renew it"
    return None


def _describe_validity(certificate: Certificate, now_s: float) -> str:
    begin, end = _date(certificate.not_before_s), _date(certificate.not_after_s)
    if now_s < certificate.not_before_s:
        return f"valid from {begin} on, to {end}: not yet"
    days = _days_left(certificate, now_s)
    left = f"{_count_days(days)} left" if now_s <= certificate.not_after_s else f"ended {_count_days(-days)} ago"
    return f"valid from {begin} to {end} ({left})"


def _days_left(certificate: Certificate, now_s: float) -> int:
    """Return the number of whole days until the certificate ends; negative if it has ended."""
    return int((certificate.not_after_s - now_s) / _DAY_S)


def _count_days(days: int) -> str:
    if days == 0:
        return "less than 1 day"
    return "1 day" if days == 1 else f"{days:,} days"


def _date(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")
    except (OverflowError, ValueError, OSError):
        # Certificates may be valid to the year 9999 and later.
        return f"{seconds:.0f} s"
