"""Share and streams groups with offsets: how they are made, and how their offsets are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from kafka_groups import GroupAdmin
from kafka_groups.model import CommittedOffset
from tests.live.groups.clients import read_offsets
from tests.live.groups.other_kinds import streams
from tests.live.groups.raw_descriptions import share_offsets
from tests.live.groups.topics import unique_name

Offsets = Mapping[tuple[str, int], int]


def make_share(bootstrap: str, offsets: Offsets) -> str:
    """Return a share group without members that has these start offsets."""
    name = unique_name("share-rights")
    with GroupAdmin({"bootstrap.servers": bootstrap}) as admin:
        assert set(admin.alter_share_group_offsets({name: offsets}).all()[name].values()) == {None}
    return name


def make_streams(bootstrap: str, offsets: Offsets) -> str:
    """Return a streams group without members that has these commits."""
    with streams(bootstrap, *{topic for topic, _ in offsets}) as name:
        pass
    commits = {key: CommittedOffset(offset, None, "") for key, offset in offsets.items()}
    with GroupAdmin({"bootstrap.servers": bootstrap}) as admin:
        assert set(admin.alter_consumer_group_offsets({name: commits}).all()[name].values()) == {None}
    return name


def start_offsets(bootstrap: str, group: str) -> Offsets:
    """Return the known start offsets of a group."""
    return {key: start for key, (start, _) in share_offsets(bootstrap, group).items() if start >= 0}


class Kind(NamedTuple):
    """A kind of group: how a group with offsets is made, and how its offsets are read without the code under test."""

    make: Callable[[str, Offsets], str]
    read: Callable[[str, str], Offsets]


KINDS: Final = {"share": Kind(make_share, start_offsets), "streams": Kind(make_streams, read_offsets)}
