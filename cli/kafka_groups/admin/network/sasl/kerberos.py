"""GSSAPI with Kerberos 5 (RFC 4752): both sides prove that they have a key of the KDC, and agree on no layer.

The parameter `library` is the module gssapi (python-gssapi), or a fake of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafka_groups.admin.network.sasl.kerberos_errors import explain_cache, explain_keytab, explain_service
from kafka_groups.errors import AuthenticationFailedError, TicketFailedError

if TYPE_CHECKING:
    from kafka_groups.settings import KerberosCredentials

# The bit of the only layer that Kafka supports: neither signatures nor encryption of what follows.
_NO_LAYER: Final = 1
# A reply without a layer names 0 bytes as the longest message that it takes.
_NO_SIZE: Final = bytes(3)
_OFFER_BYTES: Final = 4


class SecurityContext(NamedTuple):
    """A context of the library, the first message to the broker, and the name of the user and of the service."""

    library: Any
    context: Any
    message: bytes
    principal: str
    service: str


def load_library() -> Any:
    """Return the module gssapi. Raises TicketFailedError if it cannot be loaded."""
    try:
        import gssapi
    except (ImportError, OSError) as error:
        msg = f"the library gssapi cannot be loaded ({error}); run pip install --force-reinstall gssapi"
        raise TicketFailedError(msg) from error
    return gssapi


def acquire_user(library: Any, credentials: KerberosCredentials, *, cache: str) -> Any:
    """Return the library's credentials: those of the user's ticket cache, or new ones of the keytab.

    `cache` names a ticket cache in memory for the tickets of a keytab; while it has a valid one, no other one is
    requested. Raises TicketFailedError.
    """
    keytab = credentials.keytab
    if keytab is not None:
        _check_keytab(keytab)
    try:
        kind = library.NameType.kerberos_principal
        return library.Credentials(
            name=library.Name(credentials.principal, kind) if credentials.principal else None,
            mechs=[library.MechType.kerberos],
            usage="initiate",
            store={"client_keytab": keytab, "ccache": cache} if keytab is not None else None,
        )
    except library.exceptions.GSSError as error:
        raise (explain_keytab if keytab is not None else explain_cache)(error, credentials) from error
    except NotImplementedError as error:
        msg = f"this Kerberos library takes no keytab; run kinit -k -t {keytab}, and remove sasl.kerberos.keytab"
        raise TicketFailedError(msg) from error


def start_context(library: Any, user: Any, credentials: KerberosCredentials, host: str) -> SecurityContext:
    """Return a new context for the service on a host. This takes the time of name lookups, and of the KDC.

    `user` is what `acquire_user` returned. Raises TicketFailedError, and ServiceUnknownError if the KDC does not know
    the service.
    """
    service = f"{credentials.service}@{host}"
    try:
        context = library.SecurityContext(
            name=library.Name(service, library.NameType.hostbased_service),
            creds=user,
            mech=library.MechType.kerberos,
            flags=library.RequirementFlag.mutual_authentication,
            usage="initiate",
        )
        message = context.step(None)
        return SecurityContext(library, context, message or b"", str(user.name), service)
    except library.exceptions.GSSError as error:
        raise explain_service(error, credentials, service.replace("@", "/")) from error


def _check_keytab(keytab: str) -> None:
    """Raise TicketFailedError if the file cannot be read: the library does not say why it finds no key."""
    kind, separator, path = keytab.rpartition(":")
    if separator and kind != "FILE":
        return
    try:
        with open(path, "rb") as file:  # noqa: PTH123 # The text may be no path at all.
            file.read(1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "its name has a NUL character"
        msg = (
            f"the keytab {keytab} cannot be read: {reason}; check sasl.kerberos.keytab and the permissions of the file"
        )
        raise TicketFailedError(msg) from error


class KerberosClient:
    """The exchange after the first message: the broker's proof, and the choice of no security layer."""

    def __init__(self, security: SecurityContext) -> None:
        self._security = security
        self._is_last = False

    def first_message(self) -> bytes:
        """Return the ticket for the service, and the proof that the client has its key."""
        return self._security.message

    def evaluate_challenge(self, challenge: bytes) -> bytes | None:
        """Return the next message. Raises AuthenticationFailedError if the broker proves nothing, or wants a layer."""
        if self._is_last:
            return None
        library, context, *_ = self._security
        try:
            if not context.complete:
                return context.step(challenge) or b""
            self._is_last = True
            _check_offer(context.unwrap(challenge).message)
            # As Java's client, this one asks to act as its own principal.
            reply = bytes([_NO_LAYER]) + _NO_SIZE + self._security.principal.encode()
            message: bytes = context.wrap(reply, False).message  # The parameter is `encrypt`.
        except library.exceptions.GSSError as error:
            service = self._security.service.replace("@", "/")
            msg = f"the broker did not prove that it has the key of {service}: {error}; check the keytab of the broker"
            raise AuthenticationFailedError(msg) from error
        return message

    def describe_refusal(self, reason: str) -> str:
        """Return the reason of the broker, and what to check: brokers say little about a ticket."""
        _library, _context, _message, principal, service = self._security
        return (
            f"the broker refused the Kerberos ticket of {principal} for {service.replace('@', '/')}: {reason}; check "
            "the clocks of both machines, and whether the keytab of the broker has the newest key of that service: the "
            "log of the broker has the reason"
        )


def _check_offer(offer: bytes) -> None:
    """Raise AuthenticationFailedError for what is no offer of layers, and for one without "no layer"."""
    if len(offer) != _OFFER_BYTES:
        msg = f"the broker returned {len(offer)} bytes where Kerberos has a list of security layers; check the listener"
        raise AuthenticationFailedError(msg)
    if not offer[0] & _NO_LAYER:
        msg = "the broker requires a security layer of Kerberos, which Kafka does not have; use SASL_SSL to encrypt"
        raise AuthenticationFailedError(msg)
