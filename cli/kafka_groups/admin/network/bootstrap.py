"""Bootstrap servers, the share of the deadline that each one gets, and the Metadata request for the brokers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kafka_groups.admin.network.connection import Request, Response
from kafka_groups.errors import AdminError, MalformedResponseError
from kafka_groups.model import Broker
from kafka_groups.protocol import SchemaError
from kafka_groups.protocol.messages import METADATA
from kafka_groups.settings import Endpoint

if TYPE_CHECKING:
    from kafka_groups.settings import ConnectionSettings

_SHORTEST_SETUP_S: Final = 0.1
_NO_TOPICS: Final[Mapping[str, Any]] = {"topics": []}


@dataclass(frozen=True, kw_only=True)
class ClusterMetadata:
    """The brokers of a cluster by id, and the cluster's id; None if the broker returned none."""

    cluster_id: str | None
    brokers: Mapping[int, Broker]


class Bootstrap:
    """The endpoints that requests to any broker may go to; `current` is the last one that was used."""

    def __init__(self, settings: ConnectionSettings) -> None:
        self.servers = settings.bootstrap
        self.current: Endpoint | None = None
        self._setup_timeout_s = settings.connect_timeout_s

    def setup_timeout_s(self, remaining_s: float, later_servers: int) -> float:
        """Return how long to try a server, so that each of the later servers gets a share of the remaining time."""
        if later_servers == 0:
            return self._setup_timeout_s
        turns = later_servers + 1
        share_s = min(max(1.0, self._setup_timeout_s / turns), remaining_s / turns)
        return max(_SHORTEST_SETUP_S, round(share_s, 1))

    def next_endpoint(self, brokers: Iterable[Broker]) -> Endpoint:
        """Return the endpoint after `current` among the brokers and the bootstrap servers, and make it `current`."""
        known = (Endpoint(host=broker.host, port=broker.port) for broker in brokers)
        candidates = list(dict.fromkeys((*known, *self.servers)))
        last = candidates.index(self.current) if self.current in candidates else -1
        self.current = candidates[(last + 1) % len(candidates)]
        return self.current


def metadata_request(token: object) -> Request:
    """Return a request for the brokers of the cluster, without topics."""
    return Request(api=METADATA, bodies=lambda _version: [(None, _NO_TOPICS)], token=token)


def read_metadata(response: Response) -> ClusterMetadata:
    """Return the cluster's brokers; the response's own error, or MalformedResponseError if it cannot be read."""
    if response.error is not None:
        raise response.error
    try:
        metadata = METADATA.read_response(response.version, response.payload)
    except SchemaError as error:
        msg = f"cannot read the Metadata response: {error}"
        raise MalformedResponseError(msg) from error
    brokers = {
        row["node_id"]: Broker(id=row["node_id"], host=row["host"], port=row["port"]) for row in metadata["brokers"]
    }
    return ClusterMetadata(cluster_id=metadata["cluster_id"], brokers=brokers)


def unreachable(failures: list[tuple[Endpoint, AdminError]]) -> AdminError:
    """Return one error of the last failure's type that names each bootstrap server and its reason."""
    reasons = "; ".join(f"{endpoint}: {error}" for endpoint, error in failures)
    text = f"no bootstrap server responded: {reasons}" if len(failures) > 1 else f"cannot connect to {reasons}"
    return type(failures[-1][1])(text)
