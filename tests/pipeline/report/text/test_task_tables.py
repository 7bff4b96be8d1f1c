"""The tables of a report on one Connect or streams group."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

from kafka_groups.pipeline.report.member_tasks import CONNECTOR, Client, GroupTasks, MemberTasks, TaskChange
from kafka_groups.rendering.screen import Screen
from tests.pipeline.report.example_histories import FROM, MINUTE, group, history
from tests.pipeline.report.text.test_table import drawn_on

MakeScreen = Callable[..., Screen]
FIRST = Client("c-1", "/h", "http://a:8083/")
TASKS = frozenset({("", "file", CONNECTOR), ("", "file", 0), ("", "file", 2), ("", "sink", 0)})
NOTHING = frozenset[tuple[str, str, int]]()
MEMBERS = (
    MemberTasks("m1", FIRST, TASKS, FROM, since_is_bound=True, last_row_ms=FROM),
    MemberTasks("m2", Client(), NOTHING, FROM + 7_000, since_is_bound=False, last_row_ms=FROM + 7_000),
)
CHANGE = TaskChange(FROM + 7_000, "m1", FIRST, TASKS, frozenset({("", "old", CONNECTOR)}))
CONNECT = group("connect", tasks=GroupTasks(MEMBERS, (CHANGE,)))


def test_a_report_on_one_group_has_its_members_and_changes(make_screen: MakeScreen) -> None:
    out, err = drawn_on(make_screen(), history(CONNECT))
    assert out.partition("\n\n")[2] == dedent(
        """\
        MEMBER          CLIENT-ID  CONNECTORS  TASKS            SINCE
        http://a:8083/  c-1        file        file:0,2;sink:0  ≤2026-11-20T00:00:00Z
        m2              -          -           -                2026-11-20T00:00:07Z

        AT                    MEMBER          GAINED                LOST
        2026-11-20T00:00:07Z  http://a:8083/  file file:0,2;sink:0  old
        """
    )
    assert "SINCE of a member: ≤ means at or before" in err


def test_a_report_on_a_streams_group_has_tasks_by_role(make_screen: MakeScreen) -> None:
    own = frozenset({("active", "0", 0), ("active", "0", 1), ("active", "1", 0), ("standby", "1", 1)})
    member = MemberTasks("m1", Client("c-1", "/h"), own, FROM, since_is_bound=False, last_row_ms=FROM)
    change = TaskChange(FROM, "m1", Client(), own, frozenset({("warmup", "1", 1)}))
    shown = group("app", tasks=GroupTasks((member,), (change,), has_roles=True))
    out, _ = drawn_on(make_screen(), history(shown))
    assert out.partition("\n\n")[2] == dedent(
        """\
        MEMBER  CLIENT-ID  ACTIVE     STANDBY  WARMUP  SINCE
        m1      c-1        0:0,1;1:0  1:1      -       2026-11-20T00:00:00Z

        AT                    MEMBER  GAINED                        LOST
        2026-11-20T00:00:00Z  m1      active 0:0,1;1:0 standby 1:1  warmup 1:1
        """
    )


def test_only_the_last_changes_are_in_the_table(make_screen: MakeScreen) -> None:
    many = tuple(CHANGE._replace(at_ms=FROM + minute * MINUTE) for minute in range(22))
    out, err = drawn_on(make_screen(), history(group("connect", tasks=GroupTasks((), many))))
    assert ("T00:01:00Z" in out, "T00:02:00Z" in out, "T00:21:00Z" in out) == (False, True, True)
    assert "2 earlier changes of tasks; --format json has them all." in err


def test_a_report_on_several_groups_has_no_tasks(make_screen: MakeScreen) -> None:
    out, _ = drawn_on(make_screen(), history(CONNECT, group()))
    assert "CONNECTORS" not in out


def test_members_without_a_row_in_the_period_are_named(make_screen: MakeScreen) -> None:
    old = MEMBERS[0]._replace(since_ms=FROM - MINUTE, last_row_ms=FROM - 1)
    shown = group("connect", tasks=GroupTasks((old, MEMBERS[1]), (), unknown_members=("m3",)))
    out, err = drawn_on(make_screen(), history(shown))
    assert "≤2026-11-19T23:59:00Z" in out
    assert "No row of the period shows the tasks of http://a:8083/; they are the last known before it." in err
    assert "The tasks of m3 are unknown: no row shows them." in err
