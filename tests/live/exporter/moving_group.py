"""Groups of a test: one whose commits follow its topic, and one that has stopped."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from kafka_groups.model import CommittedOffset
from tests.live.groups.clients import open_admin
from tests.live.groups.topics import fill

_PAUSE_S: Final = 0.5
_RECORDS: Final = 5


@contextmanager
def moving_group(bootstrap: str, group: str, topic: str) -> Iterator[None]:
    """Write records to partition 0 of a topic, and let the group commit them, inside the with block."""
    ended = threading.Event()
    failures: list[BaseException] = []
    arguments = (bootstrap, group, topic, ended, failures)
    thread = threading.Thread(target=_move, args=arguments, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    assert failures == []


def commit_offset(bootstrap: str, group: str, topic: str, offset: int) -> None:
    """Commit an offset of partition 0 for a group without members."""
    with open_admin(bootstrap) as admin:
        change = {group: {(topic, 0): CommittedOffset(offset, None, "")}}
        (failures,) = admin.alter_consumer_group_offsets(change).all().values()
        assert {*failures.values()} == {None}


def _move(bootstrap: str, group: str, topic: str, ended: threading.Event, failures: list[BaseException]) -> None:
    written = 0
    try:
        while not ended.wait(_PAUSE_S):
            # One record stays unread, so that the group has a lag and must not be a stopped one.
            if written:
                commit_offset(bootstrap, group, topic, written - 1)
            fill(bootstrap, topic, partitions=1, records=_RECORDS)
            written += _RECORDS
    except BaseException as error:  # noqa: BLE001  # the thread of the test raises it
        failures.append(error)
