"""The schemas against those of the package kio, by property."""

from __future__ import annotations

import io

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kio.serial.writers import Writable, write_tagged_field, write_unsigned_varint
from kio.static.primitive import uvarint

from kafka_groups.protocol import (
    BOOL,
    INT16,
    INT64,
    STRING,
    Array,
    Cursor,
    Field,
    Struct,
    compile_reader,
    compile_writer,
)
from kafka_groups.protocol.messages import API_VERSIONS, LIST_OFFSETS, METADATA, OFFSET_FETCH, Api
from kafka_groups.protocol.messages.describe_groups import ASSIGNMENT
from tests.admin.network.exchange import SUPPORTED, encoded_body, id_of
from tests.protocol.golden_messages import BY_NAME
from tests.protocol.kio_bridge import (
    assignment_class,
    kio_bytes,
    kio_class,
    kio_defaults,
    kio_outline,
    kio_values,
    present_values,
    schema_defaults,
    schema_outline,
)
from tests.protocol.values import VALUES, integers, structs

pytestmark = pytest.mark.slow
BOTH_KINDS = pytest.mark.parametrize("kind", ["request", "response"])
# These versions are newer than kio; golden bytes of Kafka's own classes have them.
NOT_IN_KIO = [("DeleteGroups", 3), ("StreamsGroupDescribe", 1)]
EVERY_VERSION = pytest.mark.parametrize(
    ("api", "version"), [each for each in SUPPORTED if (each[0].name, each[1]) not in NOT_IN_KIO], ids=id_of
)
TAGGED = [(api, version) for api, version in SUPPORTED if api.is_flexible(version) and api.response_tags]

# The same examples on every run, so that only a change of the code can make a test fail.
STABLE = settings(
    derandomize=True,
    deadline=None,
    max_examples=40,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)

# The versions share two headers of requests and two of responses, which get hundreds of examples each all the same.
HEADERS = settings(STABLE, max_examples=10)


def _write_raw(out: Writable, data: bytes) -> None:
    out.write(data)


def test_kio_lacks_the_versions_that_are_not_compared_with_it() -> None:
    by_name = {api.name: api for api, _ in SUPPORTED}
    for name, version in NOT_IN_KIO:
        with pytest.raises(ModuleNotFoundError):
            kio_class(by_name[name], "request", version)


@BOTH_KINDS
@EVERY_VERSION
def test_a_version_has_the_fields_of_kio_and_the_same_ones_are_nullable(api: Api, version: int, kind: str) -> None:
    theirs = kio_class(api, kind, version)
    assert list(schema_outline(getattr(api, kind), version)) == list(kio_outline(theirs))
    assert api.is_flexible(version) == theirs.__flexible__
    assert api.key == theirs.__api_key__


@BOTH_KINDS
@EVERY_VERSION
def test_a_missing_field_is_written_as_kafkas_default_except_automatic_topic_creation(
    api: Api, version: int, kind: str
) -> None:
    written = dict(schema_defaults(getattr(api, kind), version))
    others = {path: value for path, value in kio_defaults(kio_class(api, kind, version)) if written[path] != value}
    assert others in ({}, {"allow_auto_topic_creation": True})


@pytest.mark.parametrize(
    ("api", "version", "values", "body"),
    [
        pytest.param(METADATA, 4, {"topics": None}, "ffffffff 00", id="Metadata-v4-creates-no-topics"),
        pytest.param(METADATA, 8, {"topics": None}, "ffffffff 00 00 00", id="Metadata-v8-creates-no-topics"),
        pytest.param(METADATA, 9, {"topics": None}, "00 00 00 00 00", id="Metadata-v9-creates-no-topics"),
        pytest.param(METADATA, 13, {"topics": None}, "00 00 00 00", id="Metadata-v13-creates-no-topics"),
        pytest.param(LIST_OFFSETS, 1, {"topics": []}, "ffffffff 00000000", id="ListOffsets-v1-is-no-replica"),
        pytest.param(
            LIST_OFFSETS, 10, {"topics": []}, "ffffffff 00 01 00000000 00", id="ListOffsets-v10-is-no-replica"
        ),
        pytest.param(OFFSET_FETCH, 2, {"group_id": "g"}, "0001 67 ffffffff", id="OffsetFetch-v2-all-topics"),
        pytest.param(OFFSET_FETCH, 7, {"group_id": "g"}, "02 67 00 00 00", id="OffsetFetch-v7-all-topics"),
        pytest.param(
            OFFSET_FETCH, 8, {"groups": [{"group_id": "g"}]}, "02 02 67 00 00 00 00", id="OffsetFetch-v8-all-topics"
        ),
        pytest.param(
            OFFSET_FETCH,
            9,
            {"groups": [{"group_id": "g"}]},
            "02 02 67 00 ffffffff 00 00 00 00",
            id="OffsetFetch-v9-all-topics-and-no-member",
        ),
    ],
)
def test_a_request_with_few_fields_has_the_intended_defaults(api: Api, version: int, values: Struct, body: str) -> None:
    assert encoded_body(api, "request", version, values) == bytes.fromhex(body)


@BOTH_KINDS
@EVERY_VERSION
@STABLE
@given(data=st.data())
def test_messages_have_the_bytes_of_kio_and_each_reads_those_of_the_other(
    api: Api, version: int, kind: str, data: st.DataObject
) -> None:
    fields = getattr(api, kind)
    values = data.draw(structs(fields, version))
    written = encoded_body(api, kind, version, values)
    theirs = kio_bytes(kio_class(api, kind, version), values)
    assert written == theirs
    assert kio_values(kio_class(api, kind, version), written) == values
    cursor = Cursor(theirs)
    read = compile_reader(fields, version=version, flexible=api.is_flexible(version))(cursor)
    assert (present_values(fields, version, read), cursor.remaining()) == (values, 0)


@pytest.mark.parametrize("count", [126, 127, 128, 16382, 16383])
def test_long_arrays_of_structs_are_those_of_kio(count: int) -> None:
    partition = {
        "partition_index": 7,
        "committed_offset": 8,
        "committed_leader_epoch": 9,
        "metadata": "",
        "error_code": 0,
    }
    topics = [{"name": "orders", "partitions": [partition] * count}]
    compact = {"throttle_time_ms": 0, "groups": [{"group_id": "g", "topics": topics, "error_code": 0}]}
    wide = {"throttle_time_ms": 0, "topics": topics, "error_code": 0}
    assert (
        kio_values(kio_class(OFFSET_FETCH, "response", 8), encoded_body(OFFSET_FETCH, "response", 8, compact))
        == compact
    )
    assert kio_values(kio_class(OFFSET_FETCH, "response", 5), encoded_body(OFFSET_FETCH, "response", 5, wide)) == wide


@EVERY_VERSION
@HEADERS
@given(correlation_id=integers(32), client_id=VALUES["string"])
def test_a_request_is_its_size_then_the_header_of_kio_then_the_body(
    api: Api, version: int, correlation_id: int, client_id: str
) -> None:
    golden = BY_NAME[api.name, "request", version, "full"]
    header = kio_bytes(
        kio_class(api, "request", version).__header_schema__,
        {
            "request_api_key": api.key,
            "request_api_version": version,
            "correlation_id": correlation_id,
            "client_id": client_id,
        },
    )
    frame = api.encode_request(version, correlation_id=correlation_id, client_id=client_id, body=golden.values)
    assert frame[4:] == header + golden.data
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4


@EVERY_VERSION
@HEADERS
@given(correlation_id=integers(32))
def test_a_response_begins_behind_the_header_of_kio(api: Api, version: int, correlation_id: int) -> None:
    golden = BY_NAME[api.name, "response", version, "full"]
    header = kio_bytes(kio_class(api, "response", version).__header_schema__, {"correlation_id": correlation_id})
    assert api.open_response(version, header + golden.data).position == len(header)
    assert present_values(api.response, version, api.read_response(version, header + golden.data)) == golden.values


@pytest.mark.parametrize(("api", "version"), TAGGED, ids=id_of)
@STABLE
@given(tags=st.dictionaries(st.integers(0, 2**31 - 1), st.binary(max_size=200), max_size=4))
def test_tags_in_a_response_header_are_skipped(api: Api, version: int, tags: dict[int, bytes]) -> None:
    golden = BY_NAME[api.name, "response", version, "full"]
    header = io.BytesIO()
    header.write(b"corr")
    write_unsigned_varint(header, uvarint(len(tags)))
    for tag, body in sorted(tags.items()):
        write_tagged_field(header, uvarint(tag), _write_raw, body)
    assert (
        present_values(api.response, version, api.read_response(version, header.getvalue() + golden.data))
        == golden.values
    )


# Of the supported APIs only ApiVersions has tagged fields, and connections do not read them.
_FEATURES = (
    *API_VERSIONS.response,
    Field(
        "finalized_features",
        Array((Field("name", STRING), Field("max_version_level", INT16), Field("min_version_level", INT16))),
        since=3,
        tag=2,
    ),
    Field("zk_migration_ready", BOOL, since=3, tag=3, default=False),
    Field("finalized_features_epoch", INT64, since=3, tag=1, default=-1),
)


@STABLE
@given(values=structs(_FEATURES, 3))
def test_tagged_fields_have_the_bytes_of_kio_and_are_skipped_by_schemas_without_them(
    values: Struct,
) -> None:
    theirs = kio_bytes(kio_class(API_VERSIONS, "response", 3), values)
    written = bytearray()
    compile_writer(_FEATURES, version=3, flexible=True)(written, values)
    assert bytes(written) == theirs
    read = compile_reader(_FEATURES, version=3, flexible=True)(Cursor(theirs))
    assert read == values | {"finalized_features": read["finalized_features"]}
    assert list(read["finalized_features"]) == values["finalized_features"]
    plain = API_VERSIONS.response_reader(3)(Cursor(theirs))
    assert plain == {key: values[key] for key in ("error_code", "api_keys", "throttle_time_ms")}


@pytest.mark.parametrize("version", [0, 1, 2, 3])
@STABLE
@given(data=st.data())
def test_assignments_read_as_kio_writes_them(version: int, data: st.DataObject) -> None:
    values = data.draw(structs(ASSIGNMENT, version))
    theirs = kio_bytes(assignment_class(version), values | {"user_data": b"of the client"})
    assert compile_reader(ASSIGNMENT, version=version, flexible=False)(Cursor(theirs)) == values
