"""Bytes that are not a response: they raise SchemaError, and never another exception, take no memory and no time."""

from __future__ import annotations

import contextlib
import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_groups.protocol import SchemaError, Struct
from kafka_groups.protocol.messages import ALL, FIND_COORDINATOR, METADATA, OFFSET_FETCH, Api
from tests.protocol.golden_messages import BY_NAME, Golden

pytestmark = pytest.mark.slow
SUPPORTED = [(api, version) for api in ALL for version in range(api.lowest, api.highest + 1)]
EVERY_VERSION = pytest.mark.parametrize(
    ("api", "version"), SUPPORTED, ids=[f"{api.name}-v{version}" for api, version in SUPPORTED]
)
STABLE = settings(derandomize=True, deadline=None, max_examples=60, database=None)
MEGABYTE = 2**20


def _response(api: Api, version: int, *, variant: str = "full") -> bytes:
    golden: Golden = BY_NAME[api.name, "response", version, variant]
    tags = b"\x00" * (api.is_flexible(version) and api.response_tags)
    return b"corr" + tags + golden.data


def _outcome(api: Api, version: int, payload: bytes) -> Struct | SchemaError:
    try:
        return api.read_response(version, payload)
    except SchemaError as error:
        return error


@contextlib.contextmanager
def _little_memory() -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < MEGABYTE
    finally:
        tracemalloc.stop()


@EVERY_VERSION
def test_a_response_truncated_anywhere_is_refused(api: Api, version: int) -> None:
    whole = _response(api, version)
    outcomes = [type(_outcome(api, version, whole[:size])) for size in range(len(whole) + 1)]
    assert outcomes == [SchemaError] * len(whole) + [dict]


@pytest.mark.parametrize("version", range(9, 14))
def test_a_response_truncated_within_its_tags_is_refused(version: int) -> None:
    whole = _response(METADATA, version, variant="tags")
    outcomes = [type(_outcome(METADATA, version, whole[:size])) for size in range(len(whole) + 1)]
    assert outcomes == [SchemaError] * len(whole) + [dict]


@pytest.mark.parametrize(
    ("version", "payload"),
    [
        pytest.param(1, "636f7272 7fffffff 000000000000", id="wide array"),
        pytest.param(8, "636f7272 00 00000000 ffffffff07", id="compact array of 2^31-2"),
        pytest.param(8, "636f7272 00 00000000 8080808008", id="compact array of 2^31-1"),
        pytest.param(8, "636f7272 00 00000000 ffffffff0f", id="compact array of 2^32-2"),
        pytest.param(8, "636f7272 ffffffff0f 0001000000", id="tags of the header"),
        pytest.param(8, "636f7272 01 00 ffffffff0f 000000", id="one tag of the header"),
        pytest.param(8, "636f7272 00 00000000 01 ffffffff", id="tags of the body"),
    ],
)
def test_fourteen_bytes_that_declare_billions_of_elements_are_refused_at_once(version: int, payload: str) -> None:
    data = bytes.fromhex(payload)
    assert len(data) == 14
    with _little_memory(), pytest.raises(SchemaError):
        OFFSET_FETCH.read_response(version, data)


@pytest.mark.parametrize("claim", ["7fffffff", "7fff", "ffffffff0f", "ffffffff07", "80808080808080808080", "ffff"])
@pytest.mark.parametrize("api", ALL, ids=[api.name for api in ALL])
def test_a_huge_size_anywhere_in_a_response_takes_no_memory(api: Api, claim: str) -> None:
    whole = {version: _response(api, version) for version in (api.lowest, api.highest)}
    size = bytes.fromhex(claim)
    with _little_memory():
        outcomes = {
            type(_outcome(api, version, response[:at] + size + response[at + len(size) :]))
            for version, response in whole.items()
            for at in range(0, len(response), 3)
        }
    assert outcomes <= {SchemaError, dict}


@EVERY_VERSION
@STABLE
@given(payload=st.binary(max_size=300))
def test_any_bytes_are_a_response_or_a_schema_error(api: Api, version: int, payload: bytes) -> None:
    assert type(_outcome(api, version, payload)) in {SchemaError, dict}


@EVERY_VERSION
@STABLE
@given(data=st.data())
def test_a_response_with_replaced_bytes_is_a_response_or_a_schema_error(
    api: Api, version: int, data: st.DataObject
) -> None:
    whole = _response(api, version)
    start = data.draw(st.integers(0, len(whole)), label="start")
    end = data.draw(st.integers(start, len(whole)), label="end")
    other = data.draw(st.binary(max_size=40), label="instead")
    assert type(_outcome(api, version, whole[:start] + other + whole[end:])) in {SchemaError, dict}


def test_a_name_that_is_not_utf8_keeps_its_bytes_and_hides_no_other() -> None:
    both = bytes.fromhex(
        "636f7272 00 00000000 03"
        " 05 6162fffe 00000007 02 68 00000009 0000 00 00"
        " 03 c3a9     00000007 02 68 00000009 0000 00 00"
        " 00"
    )
    assert [found["key"] for found in FIND_COORDINATOR.read_response(4, both)["coordinators"]] == [
        "ab\udcff\udcfe",
        "é",
    ]
