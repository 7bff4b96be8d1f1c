"""Errors of the Kerberos library as sentences: why there is no ticket, and the next step.

The library is Heimdal's or MIT's. Both have the codes of RFC 4120 and of MIT's krb5, from a base on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from kafka_groups.errors import ServiceUnknownError, TicketFailedError

if TYPE_CHECKING:
    from kafka_groups.settings import KerberosCredentials

# ERROR_TABLE_BASE_krb5 as an unsigned number. The codes below are relative to it.
_BASE: Final = 2**32 - 1_765_328_384
_CLIENT_UNKNOWN: Final = 6
_SERVICE_UNKNOWN: Final = 7
_PREAUTHENTICATION_FAILED: Final = 24
_DECRYPTION_FAILED: Final = 31
_EXPIRED: Final = 32
_NOT_YET_VALID: Final = 33
_SKEW: Final = 37
_NO_CREDENTIALS: Final = 141
_REALM_UNKNOWN: Final = 154
_KDC_UNREACHABLE: Final = 156
_NO_CACHE: Final = 195

# What is wrong whether the user has a cache or a keytab.
_REASONS: Final[Mapping[int, str]] = {
    _REALM_UNKNOWN: "check default_realm and [realms] of krb5.conf, and KRB5_CONFIG",
    _KDC_UNREACHABLE: "check the network, and the address of the KDC in krb5.conf",
    _SKEW: "the clocks of this machine and of the KDC differ by more than five minutes; set the clock of this machine",
    _NOT_YET_VALID: "check the clocks of this machine and of the KDC",
}
_SEE_LOG: Final = "set KRB5_TRACE=/dev/stderr to see what the library does"


def explain_cache(error: Any, credentials: KerberosCredentials) -> TicketFailedError:
    """Return the error of a ticket cache without a ticket that can be used."""
    if _code(error) in {_NO_CREDENTIALS, _NO_CACHE}:
        user = f" {credentials.principal}" if credentials.principal else ""
        command = f"run kinit{user}, or set sasl.kerberos.keytab"
        return TicketFailedError(f"there is no Kerberos ticket ({_text(error)}); {command}")
    return _explain(error, credentials)


def explain_keytab(error: Any, credentials: KerberosCredentials) -> TicketFailedError:
    """Return the error of a keytab that gives no ticket."""
    keytab = credentials.keytab
    user = credentials.principal or "its first principal"
    code = _code(error)
    if code in {_NO_CREDENTIALS, _NO_CACHE}:
        key = f"no key of the principal {credentials.principal}" if credentials.principal else "no key"
        step = f"list its principals with klist -k {keytab}, and set sasl.kerberos.principal to one of them"
        return TicketFailedError(f"the keytab {keytab} has {key}; {step}")
    if code in {_PREAUTHENTICATION_FAILED, _DECRYPTION_FAILED}:
        problem = "is not the KDC's, which may have a newer one; export the keytab again"
        return TicketFailedError(f"the key of {user} in the keytab {keytab} {problem}")
    if code == _CLIENT_UNKNOWN:
        step = f"check sasl.kerberos.principal and the keytab {keytab}"
        return TicketFailedError(f"the KDC does not know the user ({_text(error)}); {step}")
    return _explain(error, credentials)


def explain_service(error: Any, credentials: KerberosCredentials, service: str) -> TicketFailedError:
    """Return the error of a user with a ticket who gets none for the service of a broker, such as `kafka/host`."""
    if _code(error) == _SERVICE_UNKNOWN:
        step = (
            "check sasl.kerberos.service.name, and the host name of the broker (dns_canonicalize_hostname of krb5.conf "
            "decides whether it is replaced by the canonical one)"
        )
        return ServiceUnknownError(f"the KDC does not know the service {service} ({_text(error)}); {step}")
    return _explain(error, credentials)


def _explain(error: Any, credentials: KerberosCredentials) -> TicketFailedError:
    code = _code(error)
    text = _text(error)
    if code == _EXPIRED:
        step = "check the clock of this machine" if credentials.keytab else "run kinit again, or kinit -R to renew it"
        return TicketFailedError(f"the Kerberos ticket has expired; {step}")
    return TicketFailedError(f"there is no Kerberos ticket for this connection: {text}; {_REASONS.get(code, _SEE_LOG)}")


def _code(error: Any) -> int:
    """Return the code of RFC 4120, or of MIT's krb5 from 128 on; another number for what is no error of Kerberos."""
    return int(error.min_code) - _BASE


def _text(error: Any) -> str:
    """Return the mechanism's text, which names principals and files, else the one of the major code."""
    texts = error.get_all_statuses(error.min_code, False) if error.min_code else []  # `is_maj`
    texts = texts or error.get_all_statuses(error.maj_code, True)
    return "; ".join(" ".join(str(text).split()).rstrip(".") for text in texts)
