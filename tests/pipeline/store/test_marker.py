"""A storage opens only in a new directory, or in one with a marker of this schema version."""

from __future__ import annotations

import errno
import json
import os
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.store import Storage, open_storage
from kafka_groups.pipeline.store.marker import MARKER
from kafka_groups.pipeline.tables import OFFSET_COMMITS, SCHEMA_VERSION
from tests.pipeline.fact_rows import new_storage
from tests.pipeline.store.commits import append, commits, names, seen, written
from tests.pipeline.store.disks import make_read_only, small_disk


def test_a_new_directory_gets_a_marker(tmp_path: Path) -> None:
    open_storage(str(tmp_path / "a b" / "é"), create=True).make()
    content = json.loads((tmp_path / "a b" / "é" / MARKER).read_text())
    assert content["what"] == "tables of kafka-groups pipeline"
    assert content["schema_version"] == SCHEMA_VERSION
    assert set(content) == {"what", "schema_version", "made_at", "made_by"}


def test_opening_a_directory_again_changes_nothing(storage: Storage) -> None:
    before = Path(storage.location, MARKER).read_text()
    open_storage(storage.location, create=True).make()
    open_storage(storage.location)
    assert Path(storage.location, MARKER).read_text() == before


def test_a_directory_is_made_on_request_and_once(tmp_path: Path) -> None:
    storage = open_storage(str(tmp_path / "history"), create=True)
    assert names(tmp_path) == []
    storage.make()
    assert json.loads((tmp_path / "history" / MARKER).read_text())["schema_version"] == SCHEMA_VERSION
    (tmp_path / "history").rename(tmp_path / "away")
    storage.make()
    assert names(tmp_path) == ["away"]


@pytest.mark.parametrize("version", [SCHEMA_VERSION - 1, SCHEMA_VERSION + 1])
def test_another_schema_that_appears_after_the_check_is_refused(tmp_path: Path, version: int) -> None:
    storage, other = (open_storage(str(tmp_path / "history"), create=True) for _ in range(2))
    other.make()
    marker = tmp_path / "history" / MARKER
    marker.write_text(json.dumps({**json.loads(marker.read_text()), "schema_version": version}))
    with pytest.raises(StorageError, match=rf"\(schema {version}\)"):
        storage.make()
    assert json.loads(marker.read_text())["schema_version"] == version


def test_a_directory_that_gets_a_file_after_the_check_is_used(tmp_path: Path) -> None:
    storage = open_storage(str(tmp_path), create=True)
    (tmp_path / "spark.log").write_text("of --spark-log, for example")
    storage.make()
    assert names(tmp_path) == [MARKER, "spark.log"]


def test_no_file_is_written_without_a_marker(storage: Storage) -> None:
    append(storage, "w-00000001", commits([1]))
    Path(storage.location, MARKER).unlink()
    with pytest.raises(StorageError, match="or its marker file was deleted; restore it"):
        storage.writer("w-00000002")


def test_an_empty_directory_with_the_draft_of_a_marker_is_used(tmp_path: Path) -> None:
    (tmp_path / ".1234.draft").write_text("{")
    open_storage(str(tmp_path), create=True).make()
    assert (tmp_path / MARKER).is_file()


def test_a_file_uri_and_a_path_name_the_same_directory(storage: Storage) -> None:
    assert open_storage(f"file://{storage.location}").directory.root == storage.directory.root
    assert open_storage(f"file://localhost{storage.location}").directory.root == storage.directory.root
    for odd in ("file://history", "file:/history", "file:history"):
        with pytest.raises(StorageError, match="write a path, or file:///"):
            open_storage(odd, create=True).make()


def test_a_relative_path_starts_at_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert open_storage("history", create=True).directory.root == str(tmp_path / "history")


def test_a_directory_with_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(StorageError, match=r"not a directory of this pipeline: it contains 'thesis.tex'.*name another"):
        open_storage(str(tmp_path), create=True).make()
    assert names(tmp_path) == ["thesis.tex"]


@pytest.mark.parametrize("there", [True, False])
def test_reading_makes_no_directory(tmp_path: Path, *, there: bool) -> None:
    place = tmp_path / "history"
    if there:
        place.mkdir()
    with pytest.raises(StorageError, match=r"no tables in .*pipeline ingest"):
        open_storage(str(place))
    assert place.exists() is there
    assert not there or not names(place)


def test_the_error_for_a_newer_schema_names_its_program(storage: Storage) -> None:
    marker = Path(storage.location, MARKER)
    content = {**json.loads(marker.read_text()), "schema_version": SCHEMA_VERSION + 1, "made_by": "kafka-groups 9.1"}
    marker.write_text(json.dumps(content))
    with pytest.raises(StorageError, match=rf"created by kafka-groups 9\.1 \(schema {SCHEMA_VERSION + 1}\)"):
        open_storage(storage.location, create=True).make()


def test_a_marker_that_is_not_a_file_of_text_is_reported(storage: Storage) -> None:
    Path(storage.location, MARKER).write_bytes(b"\xff\xfe")
    with pytest.raises(StorageError, match=rf"{MARKER} cannot be parsed; restore it, or name another directory"):
        open_storage(storage.location)


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", '{"what": 1}', '{"schema_version": "x"}'),
        *(
            f'{{"what": "tables of kafka-groups pipeline", "schema_version": {version}}}'
            for version in ("Infinity", "-3", "0", "true", "1.5", "null")
        ),
    ],
)
def test_a_broken_marker_is_reported(storage: Storage, text: str) -> None:
    Path(storage.location, MARKER).write_text(text)
    with pytest.raises(StorageError, match="cannot be parsed"):
        open_storage(storage.location)


def test_an_older_layout_or_another_tool_is_reported(storage: Storage) -> None:
    marker = Path(storage.location, MARKER)
    content = json.loads(marker.read_text())
    marker.write_text(json.dumps({**content, "schema_version": 1}))
    with pytest.raises(StorageError, match=r"have an older layout \(schema 1\).*; name a new directory"):
        open_storage(storage.location)
    marker.write_text(json.dumps({**content, "what": "other"}))
    with pytest.raises(StorageError, match="not a directory of this pipeline"):
        open_storage(storage.location)


def test_a_file_in_place_of_the_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError, match="is a file"):
        open_storage(str(tmp_path / "file"), create=True).make()
    with pytest.raises(StorageError, match=r"cannot .* in .*file"):
        open_storage(str(tmp_path / "file" / "below"), create=True).make()


def test_a_name_with_an_escape_of_uris_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="which URIs read as one character"):
        open_storage(str(tmp_path / "a%20b"), create=True).make()


def test_a_name_that_is_a_pattern_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="reads as a pattern"):
        open_storage(str(tmp_path / "a[1]"), create=True).make()


@pytest.mark.parametrize("into", ["gopher://x/y", "s3://bucket", "s3://bucket/", "s3:///history"])
def test_an_incomplete_address_is_refused_at_once(into: str) -> None:
    with pytest.raises(StorageError, match=rf"{into} is no address of tables; name a directory, or a bucket .*s3://"):
        open_storage(into, create=True).make()


@pytest.mark.parametrize(
    ("number", "why"),
    [(errno.EACCES, "permission denied"), (errno.EROFS, "the file system is read-only; name another")],
)
def test_a_directory_that_cannot_be_written_is_reported_when_opened(
    storage: Storage, monkeypatch: pytest.MonkeyPatch, number: int, why: str
) -> None:
    def refuse(**_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)  # root may write everywhere
    with pytest.raises(StorageError, match=f"^cannot write in {storage.location}: {why}"):
        open_storage(storage.location, create=True).make()
    open_storage(storage.location)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
@pytest.mark.parametrize("name", ["tables", "empty", "new"])
def test_a_read_only_disk_is_reported(tmp_path: Path, name: str) -> None:
    with small_disk(tmp_path / "disk", megabytes=1) as disk:
        open_storage(str(disk / "tables"), create=True).make()
        (disk / "empty").mkdir()
        make_read_only(disk)
        with pytest.raises(StorageError, match=f"^cannot .* in {disk / name}: the file system is read-only"):
            open_storage(str(disk / name), create=True).make()


@pytest.mark.parametrize(
    ("number", "advice"),
    [(errno.ENOSPC, "no space is left on the file system; free some"), (errno.EACCES, "permission denied")],
)
def test_errors_of_a_disk_are_reported_and_tables_stay(
    storage: Storage, monkeypatch: pytest.MonkeyPatch, number: int, advice: str
) -> None:
    append(storage, "w-00000001", commits(range(4)))
    files = written(storage, commits(range(4, 9)))

    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", refuse)
        with pytest.raises(StorageError, match=f"cannot write in .*{advice}"):
            storage.append(files)
    assert set(seen(storage)) == set(range(4))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_a_full_disk_is_reported_and_the_next_attempt_finds_the_tables(tmp_path: Path) -> None:
    with small_disk(tmp_path / "small", megabytes=0.25) as small:
        storage = new_storage(small / "history")
        append(storage, "w-00000001", commits(range(10)))
        random = commits(range(40_000))
        column = pa.array([os.urandom(20).hex() for _ in range(random.num_rows)])
        random = random.set_column(random.schema.get_field_index("metadata"), random.schema.field("metadata"), column)
        with pytest.raises(StorageError, match="space"):
            append(storage, "big", random, table=OFFSET_COMMITS)
        with pytest.raises(StorageError, match=r"cannot write in .*no space is left"):
            storage.save_metadata("filled", {"text": "x" * 300_000})
        assert set(seen(storage)) == set(range(10))
        append(storage, "w-00000002", commits(range(10, 12)))
        assert set(seen(storage)) == set(range(12))
