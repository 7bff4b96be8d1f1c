"""The schemas against Kafka's own classes, by golden bytes; defaults of fields that an old version does not have."""

from __future__ import annotations

from uuid import UUID

import pytest

from kafka_groups.protocol import INT16, Cursor, SchemaError, compile_reader
from kafka_groups.protocol.messages import ALL, OFFSET_FETCH, Api
from kafka_groups.protocol.messages.describe_groups import ASSIGNMENT
from tests.admin.network.exchange import EVERY_VERSION, SUPPORTED, encoded_body, id_of
from tests.protocol.golden_messages import BY_NAME, GOLDEN, Golden
from tests.protocol.kio_bridge import present_values

BY_API = {api.name: api for api in ALL}
MESSAGES = [golden for golden in GOLDEN if golden.api in BY_API]


def test_golden_bytes_have_every_supported_version() -> None:
    supported = {(api.name, kind, version, "full") for api, version in SUPPORTED for kind in ("request", "response")}
    assert {key for key in BY_NAME if key[0] != "ConsumerProtocol" and key[3] == "full"} == supported


@pytest.mark.parametrize("golden", MESSAGES, ids=id_of)
def test_messages_that_kafka_wrote_are_read_with_the_same_values(golden: Golden) -> None:
    api = BY_API[golden.api]
    cursor = Cursor(golden.data)
    fields = getattr(api, golden.kind)
    read = compile_reader(fields, version=golden.version, flexible=api.is_flexible(golden.version))(cursor)
    assert present_values(fields, golden.version, read) == golden.values
    assert cursor.remaining() == 0


@pytest.mark.parametrize("golden", [golden for golden in MESSAGES if golden.variant != "tags"], ids=id_of)
def test_messages_are_written_with_the_bytes_of_kafka(golden: Golden) -> None:
    assert encoded_body(BY_API[golden.api], golden.kind, golden.version, golden.values) == golden.data


@pytest.mark.parametrize("golden", [golden for golden in GOLDEN if golden.kind == "assignment"], ids=id_of)
def test_an_assignment_of_any_version_is_its_version_then_the_same_topics(golden: Golden) -> None:
    cursor = Cursor(golden.data)
    assert INT16.read(False, False)(cursor) == golden.version
    read = compile_reader(ASSIGNMENT, version=golden.version, flexible=False)(cursor)
    assert read == {"assigned_partitions": golden.values["assigned_partitions"]}


@EVERY_VERSION
def test_a_response_begins_with_its_throttle_time_from_the_version_of_the_schema(api: Api, version: int) -> None:
    golden = BY_NAME[api.name, "response", version, "full"]
    is_named = api.throttle_since is not None and version >= api.throttle_since
    assert (next(iter(golden.values)) == "throttle_time_ms") == is_named


def test_fields_that_an_old_version_does_not_have_are_read_as_their_defaults() -> None:
    oldest = {
        api.name: api.response_reader(api.lowest)(Cursor(BY_NAME[api.name, "response", api.lowest, "full"].data))
        for api in ALL
    }
    assert oldest["ApiVersions"]["throttle_time_ms"] == 0
    assert oldest["ConsumerGroupDescribe"]["groups"][0]["members"][0]["member_type"] == -1
    group = oldest["DescribeGroups"]["groups"][0]
    assert (group["error_message"], group["authorized_operations"]) == (None, -2147483648)
    assert group["members"][0]["group_instance_id"] is None
    assert oldest["FindCoordinator"]["error_message"] is None
    assert oldest["FindCoordinator"]["coordinators"] == ()
    assert (oldest["ListGroups"]["groups"][0]["group_state"], oldest["ListGroups"]["groups"][0]["group_type"]) == (
        "",
        "",
    )
    assert oldest["ListOffsets"]["topics"][0]["partitions"][0]["leader_epoch"] == -1
    topic = oldest["Metadata"]["topics"][0]
    assert (topic["topic_id"], topic["topic_authorized_operations"]) == (UUID(int=0), -2147483648)
    assert (topic["partitions"][0]["leader_epoch"], topic["partitions"][0]["offline_replicas"]) == (-1, ())
    assert (oldest["OffsetFetch"]["error_code"], oldest["OffsetFetch"]["groups"]) == (0, ())
    assert oldest["OffsetFetch"]["topics"][0]["partitions"][0]["committed_leader_epoch"] == -1


def test_all_topics_cannot_be_requested_before_version_2_of_offset_fetch() -> None:
    with pytest.raises(SchemaError, match="topics may not be null in version 1"):
        encoded_body(OFFSET_FETCH, "request", 1, {"group_id": "g", "topics": None})
