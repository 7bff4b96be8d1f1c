"""The records of keys: shared by keys with the same history, and counted if a response is late."""

from __future__ import annotations

import pytest

from kafka_groups.admin.key_records import KeyRecord, KeyRecords
from kafka_groups.admin.key_states import Event, State


def records_of(keys: str) -> KeyRecords[str]:
    """Return the records of keys in a lookup."""
    records = KeyRecords(keys)
    records.send(keys, -1)
    return records


def test_keys_that_have_not_been_looked_up_share_one_record() -> None:
    records = KeyRecords("abc")
    assert len(records) == 3
    assert {records[key] for key in records} == {records["a"]}
    assert records["a"].state is State.LOOKUP_PENDING


def test_keys_that_move_together_share_one_record() -> None:
    records = records_of("abc")
    records.move("abc", Event.LOCATE, 1)
    assert {records[key] for key in "abc"} == {records["a"]}
    assert (records["a"].state, records["a"].broker) == (State.REQUEST_PENDING, 1)


def test_keys_that_move_one_by_one_share_one_record() -> None:
    records = records_of("abc")
    for key in "abc":
        records.move(key, Event.LOCATE, 1)
    assert {records[key] for key in "abc"} == {records["a"]}


def test_keys_of_several_records_keep_them_apart() -> None:
    records = records_of("abcd")
    records.move("ac", Event.LOCATE, 1)
    records.move("bd", Event.LOCATE, 2)
    after = records.change("abcd", lambda record: record.after(Event.SEND))
    assert len(after) == 2
    assert [records[key].broker for key in "abcd"] == [1, 2, 1, 2]
    assert {records[key].state for key in "abcd"} == {State.REQUEST_IN_FLIGHT}


def test_selected_keys_have_the_order_of_the_keys() -> None:
    records = records_of("abcd")
    records.move("ac", Event.LOCATE, 1)
    assert records.select("dcba", lambda record: record.broker == 1) == ["c", "a"]
    assert records.select("dcba", lambda record: record.is_in_flight(None)) == ["d", "b"]


def test_keys_with_an_outcome_are_not_sent() -> None:
    records = records_of("abc")
    records.move("abc", Event.RETRY)
    records.finish("b", Event.LATE_RESULT)
    assert [*records.send("abc", -1)] == ["a", "c"]


def test_a_key_is_late_until_it_has_an_outcome_and_counts_once() -> None:
    records = records_of("abc")
    assert (records.mark_late("ab"), records.late_count) == (2, 2)
    assert (records.mark_late("abc"), records.late_count) == (1, 3)
    assert records.count_in_time("abc") == 0
    records.finish("a", Event.FAIL)
    assert (records.late_count, records.count_in_time("abc")) == (2, 1)
    assert (records.mark_late("a"), records.late_count) == (0, 2)


def test_a_late_key_that_is_not_in_a_lookup_holds_no_lookup_back() -> None:
    records = records_of("ab")
    records.move("a", Event.LOCATE, 1)
    assert (records.mark_late("ab"), records.late_count) == (1, 2)


def test_a_retry_counts_and_has_the_last_reason_and_the_broker_that_it_stays_with() -> None:
    records = records_of("ab")
    records.move("ab", Event.LOCATE, 1)
    records.send("ab", 1)
    assert records.retry({"a": "loading", "b": "loading"}, Event.RETRY, 1) == 1
    assert records["a"] is records["b"]
    records.send("a", 1)
    assert records.retry({"a": "moved"}, Event.UNMAP, None) == 2
    setbacks = records["a"].setbacks
    assert (setbacks.retries, setbacks.reason, setbacks.broker) == (2, "moved", 1)
    assert records["a"].state is State.LOOKUP_PENDING
    assert records["b"].setbacks.retries == 1


def test_a_withdrawn_key_has_the_reason_until_it_is_sent() -> None:
    record = KeyRecord().after_send(-1).after_withdrawal("throttled")
    assert (record.state, record.setbacks.withdrawn_because) == (State.LOOKUP_PENDING, "throttled")
    assert record.after_send(-1).setbacks.withdrawn_because is None


@pytest.mark.parametrize(("lost", "has_lost"), [(1, False), (2, True), (3, True)])
def test_lost_connections_add_up(lost: int, has_lost: bool) -> None:
    record = KeyRecord().with_lost_connections(1).with_lost_connections(lost - 1)
    assert record.has_lost(2) is has_lost


def test_a_key_is_in_flight_only_at_the_broker_of_its_request() -> None:
    record = KeyRecord(State.REQUEST_IN_FLIGHT, broker=1)
    assert [record.is_in_flight(broker) for broker in (None, 1, 2)] == [False, True, False]
    lookup = KeyRecord(State.LOOKUP_IN_FLIGHT, broker=1)
    assert [lookup.is_in_flight(broker) for broker in (None, 1, 2)] == [True, False, False]
