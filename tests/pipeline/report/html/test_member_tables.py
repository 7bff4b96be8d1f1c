"""The tables of members and tasks on the page."""

from __future__ import annotations

from kafka_groups.pipeline.report.history import GroupHistory
from kafka_groups.pipeline.report.html.member_tables import render_task_tables
from kafka_groups.pipeline.report.member_tasks import CONNECTOR, Client, GroupTasks, MemberTasks, TaskChange
from tests.pipeline.report.example_histories import FROM, HOSTILE, MINUTE, group, history
from tests.pipeline.report.html.test_page import Page, page_of

WORKER = Client("c-1", "/h", "http://a:8083/")
TASKS = frozenset({("", "file", CONNECTOR), ("", "file", 0), ("", "file", 2), ("", "sink", 0)})
MEMBER = MemberTasks("m1", WORKER, TASKS, FROM, since_is_bound=True, last_row_ms=FROM)
CHANGE = TaskChange(FROM + 7_000, "m1", WORKER, frozenset({("", "sink", 0)}), frozenset({("", "old", CONNECTOR)}))


def texts(shown: GroupHistory) -> list[str]:
    """Return the texts of the tables, without blank ones."""
    page = Page(render_task_tables(history(shown), shown))
    return [line for part in page.text.split("\n") if (line := part.strip())]


def cells(shown: GroupHistory) -> list[str]:
    """Return the rows of the tables of a group as they stand in the page, without markup between cells."""
    markup = render_task_tables(history(shown), shown)
    rows = [line for line in markup.split("\n") if line.startswith("<tr>")]
    return [" | ".join(filter(None, Page(line.replace("</", "\n</")).text.split("\n"))) for line in rows]


def test_workers_have_their_connectors_tasks_and_changes() -> None:
    shown = group("connect", tasks=GroupTasks((MEMBER,), (CHANGE,)))
    assert cells(shown) == [
        "http://a:8083/ | c-1 | file | file:0,2;sink:0 | 20 Nov, 00:00 or before",
        "20 Nov, 00:00 | http://a:8083/ | sink:0 | old",
    ]
    assert "tasks of 1 member" in texts(shown)
    assert "1 change of tasks" in texts(shown)


def test_members_of_a_streams_group_have_tasks_by_role() -> None:
    tasks = frozenset({("active", "0", 0), ("active", "1", 0), ("standby", "1", 1)})
    member = MemberTasks("m1", Client("c-1"), tasks, FROM, since_is_bound=False, last_row_ms=FROM)
    shown = group("app", tasks=GroupTasks((member,), (), has_roles=True))
    assert cells(shown) == ["m1 | c-1 | 0:0;1:0 | 1:1 | – | 20 Nov, 00:00"]  # noqa: RUF001 - the page has this dash
    assert "MemberClientActiveStandbyWarm-upSince" in "".join(texts(shown))


def test_members_without_a_row_in_the_period_are_named() -> None:
    old = MEMBER._replace(last_row_ms=FROM - 1)
    shown = texts(group("connect", tasks=GroupTasks((old,), (), unknown_members=("m2",))))
    assert "No row of the period shows the tasks of http://a:8083/; they are the last known before it." in shown
    assert "The tasks of m2 are unknown: no row shows them." in shown


def test_only_the_last_changes_are_on_the_page_the_newest_first() -> None:
    many = tuple(CHANGE._replace(at_ms=FROM + minute * MINUTE) for minute in range(102))
    shown = group("connect", tasks=GroupTasks((), many))
    assert "102 changes of tasks, the last 100 of them" in texts(shown)
    rows = cells(shown)
    assert (len(rows), rows[0][:13], rows[-1][:13]) == (100, "20 Nov, 01:41", "20 Nov, 00:02")


def test_names_in_tasks_are_text() -> None:
    tasks = frozenset({("", HOSTILE, CONNECTOR), ("", HOSTILE, 1)})
    client = Client(HOSTILE, HOSTILE, HOSTILE)
    member = MemberTasks(HOSTILE, client, tasks, FROM, since_is_bound=True, last_row_ms=FROM - 1)
    change = TaskChange(FROM, HOSTILE, client, tasks, tasks)
    page = page_of(history(group("a", tasks=GroupTasks((member,), (change,), unknown_members=(HOSTILE,)))))
    assert page.all("img") == []
    # In the sentences 2, among the members 4, among the changes 5.
    assert page.text.count(HOSTILE) == 11


def test_a_group_without_known_tasks_has_no_table() -> None:
    assert render_task_tables(history(group()), group()) == ""
