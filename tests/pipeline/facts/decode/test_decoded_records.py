"""The frame of decoded records, which notebooks see, and its rows as rows of the tables."""

from __future__ import annotations

from kafka_groups.pipeline.facts.decode.decoded_records import DecodedRecords, rows_by_table
from kafka_groups.pipeline.facts.decode.records import decode
from kafka_groups.pipeline.tables import GROUP_EVENTS, INGEST_GAPS, OFFSET_COMMITS, UNKNOWN_RECORDS
from tests.pipeline.facts.decode.golden_records import BY_NAME, raw

STRUCTS = {OFFSET_COMMITS: None, GROUP_EVENTS: "event", UNKNOWN_RECORDS: "raw", INGEST_GAPS: "gap"}
COMMIT_KEY = BY_NAME["OffsetCommit-vNone-tombstone"].key_bytes
EVENT_KEY = BY_NAME["GroupMetadata-vNone-tombstone"].key_bytes


def test_columns_and_fields_of_structs_have_the_types_of_the_tables() -> None:
    schema = DecodedRecords.schema()
    for table, struct in STRUCTS.items():
        fields = [*schema, *(schema.field(struct).type if struct else ())]
        types = {column.name: column.type for column in table.columns}
        common = {field.name: field.type for field in fields if field.name in types}
        assert len(common) >= len(types) - 3
        assert common == {name: types[name] for name in common}


def test_each_table_gets_the_rows_of_its_kind_in_their_order() -> None:
    pairs = [(COMMIT_KEY, None), (EVENT_KEY, None), (None, b"x"), (COMMIT_KEY, None)]

    tables = rows_by_table(decode(raw(pairs), "c1", 7))

    offsets = {table: rows["source_offset"].to_pylist() for table, rows in tables.items()}
    assert offsets == {OFFSET_COMMITS: [100, 103], GROUP_EVENTS: [101], UNKNOWN_RECORDS: [102]}
    assert all(rows.schema == table.frame.schema() for table, rows in tables.items())


def test_a_commit_record_has_no_number_of_members() -> None:
    rows = rows_by_table(decode(raw([(COMMIT_KEY, None)]), "c1", 7))[OFFSET_COMMITS]

    assert rows["member_count"].to_pylist() == [None]


def test_a_commit_without_a_time_has_the_time_of_its_record_in_the_table() -> None:
    records = decode(raw([(COMMIT_KEY, None)]), "c1", 7)

    rows = rows_by_table(records)[OFFSET_COMMITS]

    assert records["commit_time"].null_count == 1
    assert rows["commit_time"] == rows["record_time"] == records["record_time"]


def test_decoding_no_rows_gives_no_tables() -> None:
    assert rows_by_table(decode(raw([]), "c1", 7)) == {}
