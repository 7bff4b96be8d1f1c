"""Our message tables against those of the package kio, by property."""

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
from tests.admin.network.exchange import EVERY_VERSION, SPOKEN, id_of, written_by_us
from tests.protocol.golden_messages import BY_NAME
from tests.protocol.kio_bridge import (
    assignment_class,
    kio_bytes,
    kio_class,
    kio_defaults,
    kio_outline,
    kio_values,
    our_defaults,
    our_outline,
    said,
)
from tests.protocol.values import VALUES, integers, structs

BOTH_KINDS = pytest.mark.parametrize("kind", ["request", "response"])
TAGGED = [(api, version) for api, version in SPOKEN if api.is_flexible(version) and api.response_tags]

# The same examples on every run: a red test means a change of ours, not a new throw of the dice.
STABLE = settings(
    derandomize=True,
    deadline=None,
    max_examples=40,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)

# The 59 versions share two headers of requests and two of responses, which get hundreds of examples each all the same.
HEADERS = settings(STABLE, max_examples=10)


def _write_raw(out: Writable, data: bytes) -> None:
    out.write(data)


@BOTH_KINDS
@EVERY_VERSION
def test_a_version_has_the_fields_that_kio_gives_it_and_null_may_stand_in_the_same_ones(
    api: Api, version: int, kind: str
) -> None:
    theirs = kio_class(api, kind, version)
    assert list(our_outline(getattr(api, kind), version)) == list(kio_outline(theirs))
    assert api.is_flexible(version) == theirs.__flexible__
    assert api.key == theirs.__api_key__


@BOTH_KINDS
@EVERY_VERSION
def test_a_field_left_out_is_written_as_kafka_would_but_topics_are_not_created_by_asking(
    api: Api, version: int, kind: str
) -> None:
    ours = dict(our_defaults(getattr(api, kind), version))
    others = {path: value for path, value in kio_defaults(kio_class(api, kind, version)) if ours[path] != value}
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
def test_a_request_that_says_little_asks_for_what_we_mean(api: Api, version: int, values: Struct, body: str) -> None:
    assert written_by_us(api, "request", version, values) == bytes.fromhex(body)


@BOTH_KINDS
@EVERY_VERSION
@STABLE
@given(data=st.data())
def test_our_bytes_are_kios_bytes_and_each_reads_what_the_other_wrote(
    api: Api, version: int, kind: str, data: st.DataObject
) -> None:
    fields = getattr(api, kind)
    values = data.draw(structs(fields, version))
    ours = written_by_us(api, kind, version, values)
    theirs = kio_bytes(kio_class(api, kind, version), values)
    assert ours == theirs
    assert kio_values(kio_class(api, kind, version), ours) == values
    cursor = Cursor(theirs)
    read = compile_reader(fields, version=version, flexible=api.is_flexible(version))(cursor)
    assert (said(fields, version, read), cursor.left()) == (values, 0)


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
        kio_values(kio_class(OFFSET_FETCH, "response", 8), written_by_us(OFFSET_FETCH, "response", 8, compact))
        == compact
    )
    assert kio_values(kio_class(OFFSET_FETCH, "response", 5), written_by_us(OFFSET_FETCH, "response", 5, wide)) == wide


@EVERY_VERSION
@HEADERS
@given(correlation_id=integers(32), client_id=VALUES["string"])
def test_a_frame_is_its_size_then_the_header_that_kio_writes_then_the_body(
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
    frame = api.frame(version, correlation_id=correlation_id, client_id=client_id, body=golden.values)
    assert frame[4:] == header + golden.data
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4


@EVERY_VERSION
@HEADERS
@given(correlation_id=integers(32))
def test_a_reply_begins_behind_the_header_that_kio_writes(api: Api, version: int, correlation_id: int) -> None:
    golden = BY_NAME[api.name, "response", version, "full"]
    header = kio_bytes(kio_class(api, "response", version).__header_schema__, {"correlation_id": correlation_id})
    assert api.open_response(version, header + golden.data).at == len(header)
    assert said(api.response, version, api.read_response(version, header + golden.data)) == golden.values


@pytest.mark.parametrize(("api", "version"), TAGGED, ids=id_of)
@STABLE
@given(tags=st.dictionaries(st.integers(0, 2**31 - 1), st.binary(max_size=200), max_size=4))
def test_tags_in_a_reply_header_are_skipped(api: Api, version: int, tags: dict[int, bytes]) -> None:
    golden = BY_NAME[api.name, "response", version, "full"]
    header = io.BytesIO()
    header.write(b"corr")
    write_unsigned_varint(header, uvarint(len(tags)))
    for tag, body in sorted(tags.items()):
        write_tagged_field(header, uvarint(tag), _write_raw, body)
    assert said(api.response, version, api.read_response(version, header.getvalue() + golden.data)) == golden.values


# Kafka's schema of ApiVersions has the only tagged fields near us; the product leaves them alone.
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
def test_tagged_fields_are_written_like_kios_and_read_back_and_skipped_by_who_does_not_know_them(
    values: Struct,
) -> None:
    theirs = kio_bytes(kio_class(API_VERSIONS, "response", 3), values)
    ours = bytearray()
    compile_writer(_FEATURES, version=3, flexible=True)(ours, values)
    assert bytes(ours) == theirs
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
