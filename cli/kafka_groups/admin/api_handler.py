"""One Admin operation: from keys to requests, and from a response, or the error in its place, to its outcome."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

from kafka_groups.errors import (
    AdminError,
    ConnectionFailedError,
    NameNotResolvedError,
    OutcomeUnknownError,
    TimeoutExceededError,
    TlsFailedError,
)
from kafka_groups.model import Broker, Failure

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass(kw_only=True)
class ApiResult(Generic[K, V]):
    """The outcome of one response for each of its keys.

    Unmapped keys moved to another broker, retriable keys may succeed at the same broker; the text beside them is the
    reason, which is reported if the deadline passes. Continued keys have another request, which is sent at once. A
    change of `maybe_made` keys may have been made although the code is an error: brokers return
    COORDINATOR_NOT_AVAILABLE, too, if they wrote it and the replicas did not confirm it in time. `brokers` are the
    brokers whose addresses a lookup returned.
    """

    completed: dict[K, V] = field(default_factory=dict)
    failed: dict[K, AdminError] = field(default_factory=dict)
    unmapped: dict[K, str] = field(default_factory=dict)
    retriable: dict[K, str] = field(default_factory=dict)
    continued: set[K] = field(default_factory=set)
    maybe_made: set[K] = field(default_factory=set)
    brokers: list[Broker] = field(default_factory=list)


class ApiHandler(Protocol[K, V]):
    """One Admin operation: how keys become requests, and what a response means for them."""

    @property
    def api(self) -> Any:
        """The protocol.Api of the requests."""

    @property
    def idempotent(self) -> bool:
        """Whether a request may be sent again although nobody knows whether the broker has handled it."""

    def build_requests(
        self, keys: Sequence[K], version: int
    ) -> Sequence[tuple[Sequence[K], Mapping[str, Any] | AdminError]]:
        """Split keys into request bodies of this version, each with its keys.

        An error stands in place of a body that this version cannot express. Raises UnsupportedVersionError if it
        cannot express the body of any key.
        """

    def handle_response(self, keys: Sequence[K], version: int, payload: bytes) -> ApiResult[K, V]:
        """Return what the response means for each key. Raises SchemaError if the bytes are malformed."""

    def to_failure(self, key: K, error: AdminError, broker: int | None) -> Failure:
        """Return the failure of one key, with the group, topic, partition or broker that it stands for."""


class DescribeOptions(NamedTuple):
    """What descriptions of groups have beside state and members: nodes of topologies, and operations (KIP-430)."""

    topology: bool = False
    authorized_operations: bool = False


STATE_AND_MEMBERS: Final = DescribeOptions()


class RequestSpec(NamedTuple, Generic[K]):
    """Keys to request now at a broker, on one of the connections to it, or (broker None) to look up.

    A repeat is for keys whose first request has no response yet; the first response of both counts.
    """

    broker: int | None
    keys: tuple[K, ...]
    connection: int = 0
    is_repeat: bool = False


def is_request_lost(error: AdminError, *, for_any_broker: bool, has_lookup: bool) -> bool:
    """Return whether an error in place of a response is about the connection, so that another request may succeed.

    A name without an address may get one: a container that is being replaced is known under its new name soon. What is
    wrong with one broker does not concern a request that any broker can serve.
    """
    if for_any_broker and isinstance(error, TlsFailedError):
        return True
    has_other_address = for_any_broker or has_lookup
    return isinstance(error, ConnectionFailedError) or (has_other_address and isinstance(error, NameNotResolvedError))


def timeout_error(waited_s: float, *, is_unsent: bool, reasons: Iterable[str | None]) -> AdminError:
    """Return the error of a key without a result at the deadline, with the reasons of the delay that are known."""
    what = "it was not sent" if is_unsent else "no response"
    text = f"{what} within {round(waited_s, 1):g} s" if waited_s > 0 else "no time was left to send it"
    return TimeoutExceededError("; ".join(filter(None, (text, *reasons))))


def as_unknown(failure: Failure) -> Failure:
    """Return the failure of a change whose outcome was open once: the error does not show that it was not made."""
    if failure.name == OutcomeUnknownError.name:
        return failure
    unknown = OutcomeUnknownError.because(failure.to_error())
    return failure._replace(code=None, name=unknown.name, message=str(unknown))


def as_unsent(failure: Failure) -> Failure:
    """Return the failure of a change that was not sent, because the outcome of a request before it is unknown."""
    why = OutcomeUnknownError.reason_of(failure.message)
    unsent = ConnectionFailedError(f"it was not sent, because an earlier request of the group failed: {why}")
    return failure._replace(code=None, name=unsent.name, message=str(unsent), topic=None, partition=None)
