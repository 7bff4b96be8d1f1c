"""A cluster as `GroupAdmin` shows it: what tests put in is what commands are told, through an autospec of the door.

It answers like the real one: only what was asked, an id that it does not know fails with
GROUP_ID_NOT_FOUND, and filters leave out what the brokers would leave out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from click.testing import CliRunner

from kafka_groups.__main__ import cli
from kafka_groups.admin import EARLIEST, GroupOffsets
from kafka_groups.errors import AdminError, ConnectionFailedError
from kafka_groups.model import (
    Assignment,
    Broker,
    CommittedOffset,
    Failure,
    GroupDescription,
    GroupListing,
    Member,
    Results,
    TopicPartition,
)
from kafka_groups.protocol import compile_writer
from kafka_groups.protocol.messages.offset_fetch import OFFSET_FETCH, PARTITION
from kafka_groups.protocol.packed_offsets import PackedPartitions
from kafka_groups.rendering.screen import Screen, look_at_streams

if TYPE_CHECKING:
    from pytest_mock import MockerFixture

_VERSION = OFFSET_FETCH.highest
_write_row = compile_writer(PARTITION, version=_VERSION, flexible=True)
Commits = Mapping[tuple[str, int], int | CommittedOffset | None]


class Outcome(NamedTuple):
    """What a run of the command line left behind."""

    exit_code: int
    stdout: str
    stderr: str


def run(*arguments: str, bootstrap: str | None = "b1:9092", **environment: str | None) -> Outcome:
    """Run `kafka-groups` with these arguments, against `bootstrap` unless it is None."""
    clean = {f"KAFKA_GROUPS_{name}": None for name in ("CONFIG", "PROFILE", "TIMEOUT")}
    known = {**clean, "KAFKA_GROUPS_BOOTSTRAP_SERVER": bootstrap, **environment}
    result = CliRunner().invoke(cli, list(arguments), env=known, prog_name="kafka-groups")
    return Outcome(result.exit_code, result.stdout, result.stderr)


def failure(name: str = "GROUP_AUTHORIZATION_FAILED", *, code: int | None = 30, **where: Any) -> Failure:
    """A failure whose message is `refused`."""
    return Failure(code=code, name=name, message="refused", **where)


def member(member_id: str, assigned: Mapping[str, tuple[int, ...]] | None = None, **more: Any) -> Member:
    """A member on host /10.0.0.1 whose client id is `client`."""
    assignment = tuple(Assignment(topic=topic, partitions=parts) for topic, parts in (assigned or {}).items())
    known: dict[str, Any] = {"group_instance_id": None, "client_id": "client", "host": "/10.0.0.1", **more}
    return Member(member_id=member_id, assignment=assignment, **known)


def committed(commits: Commits, refused: Mapping[tuple[str, int], int] | None = None) -> GroupOffsets:
    """Commits as a broker's answer would hold them, in its bytes; `refused` has error codes by partition."""
    codes = {TopicPartition(*key): code for key, code in (refused or {}).items()}
    cells = [(key, commit, 0) for key, commit in commits.items()]
    cells += [(key, None, code) for key, code in codes.items()]
    return GroupOffsets(tuple(_packed(*cell) for cell in cells), codes)


def _packed(key: tuple[str, int], commit: int | CommittedOffset | None, code: int) -> tuple[str, PackedPartitions]:
    told = CommittedOffset(commit, None, "") if isinstance(commit, int) else commit or CommittedOffset(-1, None, "")
    out = bytearray()
    _write_row(
        out,
        {
            "partition_index": key[1],
            "committed_offset": told.offset,
            "committed_leader_epoch": -1 if told.leader_epoch is None else told.leader_epoch,
            "metadata": told.metadata,
            "error_code": code,
        },
    )
    return key[0], PackedPartitions(bytes(out), version=_VERSION, length=0 if code else 1, fixed=False)


class FakeCluster:
    """Fill it with `add` and the dictionaries of failures; `admin` knows what it was asked."""

    def __init__(self, mocker: MockerFixture) -> None:
        self.brokers = {1: Broker(id=1, host="b1", port=9092)}
        self.listings: dict[str, GroupListing] = {}
        self.descriptions: dict[str, GroupDescription] = {}
        self.offsets: dict[str, GroupOffsets] = {}
        self.ends: dict[TopicPartition, int] = {}
        self.starts: dict[TopicPartition, int] = {}
        self.partitions: dict[str, tuple[int, ...]] = {}
        self.unlistable: dict[int, Failure] = {}
        self.undescribable: dict[str, Failure] = {}
        self.unfetchable: dict[str, Failure] = {}
        self.leaderless: dict[TopicPartition, Failure] = {}
        self.door = mocker.patch("kafka_groups.commands.cluster_session.GroupAdmin", autospec=True)
        self.admin = self.door.return_value
        self.admin.__enter__.return_value = self.admin
        self.admin.__exit__.return_value = None
        self.admin.brokers.side_effect = lambda **_: self.brokers
        self.admin.list_groups.side_effect = self._list_groups
        self.admin.describe_groups.side_effect = self._describe_groups
        self.admin.list_consumer_group_offsets.side_effect = self._list_consumer_group_offsets
        self.admin.list_offsets.side_effect = self._list_offsets
        self.admin.list_partitions.side_effect = self._count_partitions

    def add(
        self,
        group: str,
        *,
        state: str = "Empty",
        kind: str = "Classic",
        protocol_type: str = "consumer",
        members: Sequence[Member] = (),
        commits: Commits | None = None,
        refused: Mapping[tuple[str, int], int] | None = None,
        **described: Any,
    ) -> None:
        """A group that is listed, described and has these commits; more keywords go to its description."""
        told: dict[str, Any] = {"group": group, "type": kind, "state": state, "protocol_type": protocol_type}
        self.listings[group] = GroupListing(**told, coordinator=1)
        about: dict[str, Any] = {"coordinator": self.brokers[1], "members": tuple(members), **told, **described}
        self.descriptions[group] = GroupDescription(**about)
        self.offsets[group] = committed(commits or {}, refused)

    def end(self, topic: str, *ends: int, starts: Sequence[int] = ()) -> None:
        """The topic's partitions, from 0 on, with their log end offsets."""
        self.partitions[topic] = tuple(range(len(ends)))
        self.ends |= {TopicPartition(topic, at): end for at, end in enumerate(ends)}
        self.starts |= {TopicPartition(topic, at): start for at, start in enumerate(starts)}

    def refuse(self, error: BaseException) -> None:
        """Every handler raises this, as the door does when no broker can be reached."""
        for handler in ("brokers", "list_groups", "describe_groups", "list_consumer_group_offsets", "list_offsets"):
            getattr(self.admin, handler).side_effect = error

    def _list_groups(
        self, *, states: Collection[str] | None = None, types: Collection[str] | None = None, **_: Any
    ) -> Results[str, GroupListing]:
        found = {
            group: listing
            for group, listing in sorted(self.listings.items())
            if (states is None or listing.state in states) and (types is None or listing.type in types)
        }
        return Results(succeeded=found, failed=self.unlistable)

    def _describe_groups(self, groups: Iterable[str], **_: Any) -> Results[str, GroupDescription]:
        wanted = list(groups)
        failed = {group: self.undescribable.get(group) or self._absent(group) for group in wanted}
        found = {g: self.descriptions[g] for g in wanted if g in self.descriptions and g not in self.undescribable}
        return Results(succeeded=found, failed={group: why for group, why in failed.items() if group not in found})

    def _absent(self, group: str) -> Failure:
        return Failure(group=group, code=69, name="GROUP_ID_NOT_FOUND", message="there is no such group")

    def _list_consumer_group_offsets(
        self, groups: Mapping[str, Sequence[TopicPartition] | None], *, require_stable: bool = False, **_: Any
    ) -> Results[str, GroupOffsets]:
        # An absent group is not told from one that never committed (KIP-709).
        found = {g: self._commits(g, wanted) for g, wanted in groups.items() if g not in self.unfetchable}
        return Results(succeeded=found, failed={g: why for g, why in self.unfetchable.items() if g in groups})

    def _commits(self, group: str, wanted: Sequence[TopicPartition] | None) -> GroupOffsets:
        known = self.offsets.get(group, GroupOffsets())
        return known if wanted is None else committed({key: known.get(key) for key in wanted})

    def _list_offsets(
        self, partitions: Iterable[tuple[str, int]], *, at: int = -1, **_: Any
    ) -> Results[TopicPartition, int | None]:
        told = self.starts if at == EARLIEST else self.ends
        wanted = [TopicPartition(*partition) for partition in partitions]
        failed = {key: self.leaderless[key] for key in wanted if key in self.leaderless}
        return Results(succeeded={key: told[key] for key in wanted if key in told and key not in failed}, failed=failed)

    def _count_partitions(self, topics: Iterable[str], **_: Any) -> Results[str, tuple[int, ...]]:
        wanted = list(topics)
        unknown: dict[str, Any] = {
            "code": 3,
            "name": "UNKNOWN_TOPIC_OR_PARTITION",
            "message": "the topic does not exist",
        }
        failed = {topic: Failure(topic=topic, **unknown) for topic in wanted if topic not in self.partitions}
        return Results(succeeded={t: self.partitions[t] for t in wanted if t not in failed}, failed=failed)


def unreachable() -> AdminError:
    """What the door raises when no broker answers."""
    return ConnectionFailedError("no broker answered at b1:9092; is it running?")


def pretend_terminal(mocker: MockerFixture, *, width: int = 200) -> None:
    """From now on commands take their stdout for a terminal without colours."""

    def look(_colour: str) -> Screen:
        return replace(look_at_streams("never"), out_is_terminal=True, width=width)

    mocker.patch("kafka_groups.commands.cluster_session.look_at_streams", side_effect=look)
