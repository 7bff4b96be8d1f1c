"""Dynamic configurations of groups (KIP-848), with requests written by hand: librdkafka has no such resource."""

from __future__ import annotations

from collections.abc import Mapping

from kio.schema.incremental_alter_configs.v1.request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kio.static.primitive import i8

from tests.live.groups.raw_connection import connect_to_coordinator

_SET, _GROUP_RESOURCE = 0, 32


def configure_group(bootstrap: str, group: str, settings: Mapping[str, str]) -> None:
    """Set configurations of a group, which need not exist yet."""
    changes = tuple(
        AlterableConfig(name=name, config_operation=i8(_SET), value=value) for name, value in settings.items()
    )
    resource = AlterConfigsResource(resource_type=i8(_GROUP_RESOURCE), resource_name=group, configs=changes)
    with connect_to_coordinator(bootstrap, group) as connection:
        response = connection.send(IncrementalAlterConfigsRequest(resources=(resource,), validate_only=False))
    assert not int(response.responses[0].error_code), response
