"""The sentences for kinds of group that a cluster has not enabled, by error code.

A broker then returns UNSUPPORTED_VERSION for each group, although its ApiVersions response has the API.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kafka_groups.protocol.errors import UNSUPPORTED_VERSION

SHARE_GROUPS_OFF: Final[Mapping[int, str]] = {
    UNSUPPORTED_VERSION: "share groups are not enabled on this cluster (feature share.version)"
}
STREAMS_GROUPS_OFF: Final[Mapping[int, str]] = {
    UNSUPPORTED_VERSION: "streams groups are not enabled on this cluster (feature streams.version)"
}
