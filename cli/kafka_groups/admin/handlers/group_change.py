"""The part that the handlers of changes share: what became of each item of a group, and the rights that are needed.

The items of a group are partitions or members. A request has as many of the open ones as fit into one batch of records.
A response may leave some of them open: the next request has them, without the others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Container, Hashable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final, Generic, TypeVar

from kafka_groups.admin.api_handler import ApiResult, as_unknown, as_unsent
from kafka_groups.admin.handlers.record_sizes import first_batch
from kafka_groups.admin.lookup import add_group_error
from kafka_groups.errors import AdminError, MissingFromResponseError, OutcomeUnknownError
from kafka_groups.model import Failure, Results, TopicPartition
from kafka_groups.protocol.errors import COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR, broker_error, error_code
from kafka_groups.protocol.messages import Api

T = TypeVar("T", bound=Hashable)

# Brokers return these, too, if they wrote the change and its replicas did not confirm it before a timeout, or before
# the coordinator moved (GroupCoordinatorService.java, CoordinatorRuntime.java).
MAYBE_MADE: Final = frozenset({COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR})
_MISSING: Final = MissingFromResponseError("it is missing from the broker's response")


class GroupChangeHandler(ABC, Generic[T]):
    """Group ids to what became of each item of the group: None if the change is made, or its failure.

    `sentences` are for error codes that mean something else for the change than for a request that reads. After one of
    `retriable_codes` for the whole group, the same request may succeed at the same broker.
    """

    api: Api
    idempotent = False
    sentences: ClassVar[Mapping[int, str]] = {}
    retriable_codes: ClassVar[frozenset[int]] = frozenset()

    def __init__(self, items: Mapping[str, Iterable[T]]) -> None:
        self._items = {group: tuple(dict.fromkeys(wanted)) for group, wanted in items.items()}
        self._outcomes: dict[str, dict[T, Failure | None]] = {}
        # The items of the last request of each group.
        self._requested: dict[str, Sequence[T]] = {}
        # The items whose outcome was open once: no later error shows that they were not changed.
        self._maybe_made: dict[str, set[T]] = {}

    @abstractmethod
    def build_requests(
        self, keys: Sequence[str], version: int
    ) -> Sequence[tuple[Sequence[str], Mapping[str, Any] | AdminError]]:
        """Return a body for each group, with its open items."""

    @abstractmethod
    def handle_response(
        self, keys: Sequence[str], version: int, payload: bytes
    ) -> ApiResult[str, Mapping[T, Failure | None]]:
        """Return the outcome of the group."""

    def to_failure(self, key: str, error: AdminError, broker: int | None) -> Failure:
        """Return the failure of the group."""
        return change_failure(key, error, broker, self.sentences)

    def with_outcomes(
        self, results: Results[str, Mapping[T, Failure | None]]
    ) -> Results[str, Mapping[T, Failure | None]]:
        """Return the results with the known items of failed groups; their other items have the group's failure.

        It is unknown what became of an item only if a request had this item.
        """
        partial: dict[str, Mapping[T, Failure | None]] = {}
        failed: dict[str, Failure] = {}
        for group, failure in results.failed.items():
            open_failures = {item: self._failure_of(group, item, failure) for item in self._open_items(group)}
            if not self._outcomes.get(group) and len(set(open_failures.values())) == 1:
                failed[group] = next(iter(open_failures.values()))
                continue
            of_items = {item: self._item_failure(failure, item) for item, failure in open_failures.items()}
            known = {**self._outcomes.get(group, {}), **of_items}
            partial[group] = {item: known[item] for item in self._items[group]}
        return Results(succeeded={**results.succeeded, **partial}, failed=failed)

    def _failure_of(self, group: str, item: T, failure: Failure) -> Failure:
        """Return what the failure of a group means for an open item: unknown only if a request had the item."""
        if item in self._maybe_made.get(group, ()):
            return as_unknown(failure)
        was_sent = item in self._requested.get(group, self._items[group])
        return failure if was_sent or failure.name != OutcomeUnknownError.name else as_unsent(failure)

    @abstractmethod
    def _item_failure(self, failure: Failure, item: T) -> Failure:
        """Return the failure of a group as that of one item."""

    def _record_bytes(self, group: str, item: T) -> int:
        """Return the estimated bytes of the record that the change of an item writes."""
        return 0

    def _open_items(self, group: str) -> list[T]:
        """Return the items without an outcome."""
        known = self._outcomes.get(group, {})
        return [item for item in self._items[group] if item not in known]

    def _next_items(self, group: str) -> Sequence[T]:
        """Return the open items of the next request."""
        self._requested[group] = first_batch(self._open_items(group), lambda item: self._record_bytes(group, item))
        return self._requested[group]

    def _add_group_error(self, result: ApiResult[str, Mapping[T, Failure | None]], group: str, code: int) -> None:
        """Add a group to the result by its error code, and remember which items the request may have changed."""
        if code in self.retriable_codes:
            result.retriable[group] = str(broker_error(code))
            return
        add_group_error(result, group, code, None)
        if code in MAYBE_MADE:
            self._maybe_made.setdefault(group, set()).update(self._requested[group])
        # The driver would apply it to all items of the group, also to those that no request had.
        result.maybe_made.discard(group)

    def _add_outcome(self, result: ApiResult[str, Mapping[T, Failure | None]], group: str) -> None:
        """Complete a group without open items; the others have another request."""
        if self._open_items(group):
            result.continued.add(group)
        else:
            result.completed[group] = self._in_order(group)

    def _record(self, group: str, outcomes: Mapping[T, AdminError | None]) -> None:
        """Store what became of items. An item whose outcome was open once is not known to have failed."""
        known = self._outcomes.setdefault(group, {})
        maybe_made = self._maybe_made.get(group, ())
        for item, error in outcomes.items():
            if error is None:
                known[item] = None
                continue
            failure = self._item_failure(self.to_failure(group, error, None), item)
            known[item] = as_unknown(failure) if item in maybe_made else failure

    def _record_codes(self, group: str, codes: Mapping[T, int], *, retriable: Container[int] = ()) -> set[int]:
        """Store what became of the requested items by their codes; return the codes of the items that stay open.

        Nobody knows what became of an item that the response lacks.
        """
        missing = OutcomeUnknownError.because(_MISSING)
        requested = {item: codes.get(item) for item in self._requested[group]}
        maybe_made = {item for item, code in requested.items() if code in MAYBE_MADE}
        self._maybe_made.setdefault(group, set()).update(maybe_made)
        final = {item: code for item, code in requested.items() if code not in retriable}
        self._record(group, {item: missing if code is None else _error_of(code) for item, code in final.items()})
        return {code for code in requested.values() if code is not None and code in retriable}

    def _complete(self, group: str, codes: Mapping[T, int]) -> bool:
        """Store that all requested items of a group were changed, if the response says so; return whether it does."""
        items = self._requested[group]
        if any(codes.get(item) != 0 for item in items):
            return False
        self._outcomes.setdefault(group, {}).update(dict.fromkeys(items))
        return True

    def _in_order(self, group: str) -> dict[T, Failure | None]:
        """Return what became of each item of a group that has no open ones."""
        return {item: self._outcomes[group][item] for item in self._items[group]}


class PartitionChangeHandler(GroupChangeHandler[TopicPartition]):
    """Group ids to what became of each partition of the group."""

    def _item_failure(self, failure: Failure, item: TopicPartition) -> Failure:
        return failure._replace(topic=item.topic, partition=item.partition)


def change_failure(group: str, error: AdminError, broker: int | None, sentences: Mapping[int, str]) -> Failure:
    """Return the failure of a group, with the sentence of the change unless the broker returned a message."""
    failure = Failure.of(error, group=group, broker=broker)
    code = error.code
    if code is not None and code in sentences and str(error) == error_code(code).sentence:
        return failure._replace(message=sentences[code])
    return failure


def _error_of(code: int) -> AdminError | None:
    return broker_error(code) if code else None


def rights(group: str, topic: str | None = None) -> Mapping[int, str]:
    """Return the sentences of the authorization errors, which name the rights that the change needs."""
    return {
        30: f"not allowed: this needs {group} on the group",
        **({29: f"not allowed: this needs {topic} on the topic"} if topic else {}),
    }
