"""A process that ends and starts again, over and over."""

from kafka_groups.causes.catalogue.crash_loop import find
from kafka_groups.causes.finding import Certainty
from kafka_groups.model import Member
from tests.causes.observed_group import ObservedGroup, description, line, member

_STEADY = member("steady", {"orders": [1]})


def _app(number: int, client: str = "app") -> Member:
    return member(client, {"orders": [0]}, member_id=f"{client}-{number}")


def _observe(*polls: list[Member], committed: list[int] | None = None) -> ObservedGroup:
    group = ObservedGroup(*[description(*members) for members in polls])
    count = len(polls)
    group.partition("orders", 0, committed=committed or [20] * count, ends=line(50, 10, count))
    return group.partition("orders", 1, committed=line(50, 10, count), ends=line(50, 10, count))


def test_new_member_ids_of_one_client_are_a_crash_loop() -> None:
    polls = [[_STEADY, _app(number)] for number in range(6)]
    (finding,) = find(_observe(*polls).all_unexplained())
    assert finding.certainty is Certainty.STRONG
    assert finding.summary.startswith("app on app joined 5 times with a new member id in 25 seconds")
    assert finding.facts[-1].member_id == "app-5"


def test_a_killed_process_whose_session_goes_on_is_a_crash_loop() -> None:
    polls = [[_app(0)], [_app(0), _app(1)], [_app(1)], [_app(1), _app(2)], [_app(2)], [_app(2), _app(3)]]
    (finding,) = find(_observe(*polls).all_unexplained())
    assert finding.certainty is Certainty.LIKELY


def test_the_only_member_in_a_loop_is_found_while_the_group_is_empty() -> None:
    polls: list[list[Member]] = [[_app(0)], [], [_app(1)], [], [_app(2)], []]
    assert [*find(_observe(*polls).all_unexplained())]


def test_a_rolling_restart_of_several_processes_of_one_host_is_no_loop() -> None:
    old = [_app(number) for number in range(3)]
    new = [_app(number) for number in range(10, 13)]
    polls = [old, old[1:], [*old[1:], new[0]], [old[2], *new[:2]], [*new[:2]], new]
    assert not [*find(_observe(*polls).all_unexplained())]


def test_a_scale_out_on_one_host_is_no_loop() -> None:
    polls = [[_app(number) for number in range(count)] for count in (1, 2, 3, 4, 5, 6)]
    assert not [*find(_observe(*polls).all_unexplained())]


def test_one_restart_is_no_loop() -> None:
    polls = [[_app(0), _STEADY], [_STEADY], [_STEADY], *[[_app(1), _STEADY]] * 3]
    assert not [*find(_observe(*polls).all_unexplained())]


def test_a_batch_job_that_reads_everything_at_each_run_is_no_loop() -> None:
    polls: list[list[Member]] = [[_app(0)], [], [_app(1)], [], [_app(2)], []]
    assert not [*find(_observe(*polls, committed=[50, 50, 70, 70, 90, 90]).all_unexplained())]


def test_a_member_id_that_comes_back_is_another_cause() -> None:
    polls = [[_app(0), _STEADY], [_STEADY], [_app(0), _STEADY], [_STEADY], [_app(0), _STEADY], [_STEADY]]
    assert not [*find(_observe(*polls).all_unexplained())]
