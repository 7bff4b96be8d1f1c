"""Which requests are repeated, when, and in which parts, with a clock that is a number and no sockets."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from kafka_groups.admin.api_handler import ApiResult, RequestSpec
from kafka_groups.admin.driver import ApiDriver
from kafka_groups.admin.repeats import Repeats, SentRequest
from kafka_groups.settings import Endpoint
from tests.fakes.silent_handler import driver_of

LIMIT = 10.0
Spec = RequestSpec[str]


class Connections:
    """Connections to brokers that owe responses; `active` has the time of the last byte of some."""

    def __init__(self) -> None:
        self.now = 0.0
        self.sent_at: dict[tuple[Endpoint, int], float] = {}
        self.not_ready: set[int] = set()
        self.set_aside_at: list[Endpoint] = []
        self.closed: list[int] = []

    def endpoint_of(self, broker: int, /) -> Endpoint | None:
        return Endpoint(host=f"b{broker}", port=9092)

    def silent_since(self, endpoint: Endpoint, number: int) -> float | None:
        return None if number in self.not_ready else self.sent_at.get((endpoint, number))

    def is_free(self, endpoint: Endpoint, number: int) -> bool:
        return (endpoint, number) not in self.sent_at

    def set_aside(self, endpoint: Endpoint) -> None:
        self.set_aside_at.append(endpoint)

    def close(self, endpoint: Endpoint, number: int) -> None:
        self.closed.append(number)
        self.sent_at.pop((endpoint, number), None)


class Call:
    """A call at one broker: keys of `hanging` get no response, and all others one within 10 ms."""

    def __init__(self, keys: Iterable[str], hanging: Iterable[str] = ()) -> None:
        self.connections = Connections()
        self.repeats = Repeats(self.connections)
        self.hanging = {*hanging}
        names = list(keys)
        self.driver = driver_of(*names, known=dict.fromkeys(names, 1))
        self.sent: list[tuple[float, Spec]] = []
        self.most_open = 0
        for spec in self.driver.ready(0.0):
            self.send(self.driver, spec, 0.0)

    def send(self, driver: ApiDriver[str, str], spec: Spec, now: float) -> None:
        endpoint = self.connections.endpoint_of(1)
        assert endpoint is not None
        self.connections.sent_at[endpoint, spec.connection] = now
        self.sent.append((now, spec))
        self.repeats.add(SentRequest(driver, spec, 1, now))

    def run(self, until: float = LIMIT) -> None:
        """Pass the time in steps of 10 ms, with responses to what was sent in the step before."""
        for step in range(int(until * 100)):
            now = step / 100
            for at, spec in self.sent:
                if at == (step - 1) / 100 and not self.hanging & {*spec.keys}:
                    self.respond(spec, now)
            for driver, spec in self.repeats.due(now, LIMIT):
                self.send(driver, spec, now)
            self.most_open = max(self.most_open, len(self.connections.sent_at))

    def respond(self, spec: Spec, now: float) -> None:
        self.connections.sent_at = {
            key: at for key, at in self.connections.sent_at.items() if key[1] != spec.connection
        }
        self.driver.on_response(spec, ApiResult(completed=dict.fromkeys(spec.keys, "done")), now)

    def repeated(self) -> list[tuple[float, int]]:
        """Return the time and the number of keys of each repeat."""
        return [(at, len(spec.keys)) for at, spec in self.sent if spec.is_repeat]


KEYS = [f"k{number:03}" for number in range(1_000)]


def test_a_request_is_repeated_in_halves_after_half_of_its_time() -> None:
    call = Call(KEYS, hanging=KEYS)
    call.run(5.0)
    assert call.repeated() == []
    call.run(5.02)
    assert call.repeated() == [(5.0, 500), (5.0, 500)]
    assert [endpoint.host for endpoint in call.connections.set_aside_at] == ["b1"]


@pytest.mark.parametrize("count", [1, 3, 7])
def test_keys_that_hang_are_found_within_a_second_after_the_first_halves(count: int) -> None:
    hanging = {*KEYS[100 :: len(KEYS) // count][:count]}
    call = Call(KEYS, hanging)
    call.run(8.0)
    assert {*call.driver.completed} == {*KEYS} - hanging
    assert len(call.repeated()) <= 22 * count
    assert call.most_open <= 16


def test_a_broker_without_any_response_gets_ten_repeats_and_one_part_at_a_time() -> None:
    call = Call(KEYS, hanging=KEYS)
    call.run()
    assert [size for _, size in call.repeated()] == [500, 500, 250, 250, 125, 125, 63, 62, 31, 31]
    assert call.connections.closed == []


def test_parts_that_all_hang_are_given_up_although_others_respond() -> None:
    call = Call(KEYS, hanging=KEYS[:500])
    call.run()
    assert {*call.driver.completed} == {*KEYS[500:]}
    assert len(call.repeated()) <= 30


def test_bytes_of_a_response_that_is_arriving_put_the_repeat_off() -> None:
    call = Call(KEYS, hanging=KEYS)
    [key] = call.connections.sent_at
    for step in range(80):
        call.connections.sent_at[key] = step / 10
        assert call.repeats.due(step / 10, LIMIT) == []
    assert call.repeats.due(8.96, LIMIT) != []


def test_a_connection_that_is_not_ready_or_throttled_is_not_late() -> None:
    call = Call(KEYS, hanging=KEYS)
    call.connections.not_ready.add(0)
    call.run(9.9)
    assert call.repeated() == []


def test_a_repeat_on_a_connection_that_is_not_ready_is_not_repeated() -> None:
    call = Call(KEYS, hanging=KEYS)
    call.connections.not_ready |= {1_000, 1_001}
    call.run()
    assert len(call.repeated()) == 2


def test_a_repeat_whose_connection_is_lost_is_tried_once_more() -> None:
    call = Call(KEYS, hanging=KEYS)
    call.run(5.02)
    lost = call.sent[-1][1]
    call.repeats.remove(lost)
    [(_, again)] = call.repeats.due(5.02, LIMIT)
    assert (again.keys, again.connection) == (lost.keys, 1_002)
    call.repeats.remove(again)
    assert call.repeats.due(5.03, LIMIT) == []


def test_the_only_key_of_a_request_is_not_repeated() -> None:
    call = Call(["a"], hanging=["a"])
    call.run()
    assert call.repeated() == []
    assert call.driver.is_settled()


def test_a_change_is_not_repeated() -> None:
    connections = Connections()
    repeats = Repeats(connections)
    driver = driver_of("a", "b", known=dict.fromkeys("ab", 1), idempotent=False)
    [spec] = driver.ready(0.0)
    connections.sent_at[Endpoint(host="b1", port=9092), 0] = 0.0
    repeats.add(SentRequest(driver, spec, 1, 0.0))
    assert [repeats.due(step / 10, LIMIT) for step in range(100)] == [[]] * 100
    assert connections.set_aside_at == []


def test_a_call_of_less_than_a_quarter_of_a_second_has_no_repeats() -> None:
    call = Call(KEYS, hanging=KEYS)
    assert [call.repeats.due(step / 100, 0.24) for step in range(24)] == [[]] * 24


def test_a_single_key_that_is_only_slow_keeps_its_connection() -> None:
    call = Call(KEYS[:8], hanging=["k000", "k001"])
    call.run(8.0)
    singles = [spec for _, spec in call.sent if spec.keys in (("k000",), ("k001",))]
    assert len(singles) == 2
    assert not {spec.connection for spec in singles} & {*call.connections.closed}
    call.respond(singles[0], 9.0)
    assert {*call.driver.completed} == {*KEYS[:8]} - {singles[1].keys[0]}


def test_a_connection_is_used_again_after_its_response() -> None:
    call = Call(KEYS, hanging=["k000"])
    call.run(8.0)
    numbers = [spec.connection for _, spec in call.sent if spec.is_repeat]
    assert len(numbers) >= 20
    assert len({*numbers}) <= 12


def test_the_next_time_to_look_is_that_of_the_first_late_request() -> None:
    call = Call(KEYS, hanging=KEYS)
    call.repeats.due(0.0, LIMIT)
    assert call.repeats.wakes_at() == 5.0
