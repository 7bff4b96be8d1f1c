"""One real group of each newer kind on a cluster: share, streams and Connect, each of two members."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.live.groups.connect_workers import ConnectWorkers, connect_pair
from tests.live.groups.contexts import enter_concurrently
from tests.live.groups.share_consumers import empty_share, share_pair
from tests.live.groups.streams_application import StreamsApplication, word_count
from tests.live.groups.topics import make_topic

PARTITIONS = 3
RECORDS = 10


@dataclass(frozen=True, kw_only=True)
class RealGroups:
    """Real groups on a cluster.

    Of the topic `shared`, which has PARTITIONS partitions of RECORDS records, both share groups have accepted offsets
    0 to 3 of partition 0 and offsets 5 and 6 of partition 1. `empty_share` has no member any more.
    """

    bootstrap: str
    shared: str
    share: str
    empty_share: str
    streams: StreamsApplication
    connect: ConnectWorkers


@contextmanager
def start_real_groups(bootstrap: str, directory: Path, *, version: str) -> Iterator[RealGroups]:
    """Yield real groups on a cluster of this Kafka version; `directory` is for the files of their processes."""
    shared = make_topic(bootstrap, partitions=PARTITIONS, records=RECORDS)
    lines = make_topic(bootstrap, partitions=2)
    accepted = [*((shared, 0, offset) for offset in range(4)), (shared, 1, 5), (shared, 1, 6)]
    with ExitStack() as stack:
        contexts: dict[str, Any] = {
            "share": share_pair(bootstrap, shared, accepted=accepted),
            "empty_share": empty_share(bootstrap, shared, accepted=accepted),
            "streams": word_count(bootstrap, directory / "streams", version=version),
            "connect": connect_pair(bootstrap, directory / "connect", version=version, topic=lines),
        }
        groups = stack.enter_context(enter_concurrently(**contexts))
        yield RealGroups(bootstrap=bootstrap, shared=shared, **groups)
