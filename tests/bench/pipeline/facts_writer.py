"""Facts from Arrow files, written into a data directory by the storage of one tree.

`old_and_new.py` runs `python -P facts_writer.py FACTS DATA_DIR` with that tree in PYTHONPATH. The old commit runs this
file, too, so it uses only names that both trees have.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa

from tests.pipeline.fact_rows import new_storage

try:
    from kafka_groups.pipeline.tables import TABLES
except ModuleNotFoundError:
    # The old commit has the tables in another module, which mypy does not find here.
    from kafka_groups.pipeline.schemas import TABLES  # type: ignore[import-not-found, no-redef]

# Columns that the old commit names otherwise.
_OLD_NAMES = {
    "is_tombstone": "tombstone",
    "lookup_offset": "point_offset",
    "lookup_timestamp": "point_time",
    "member_count": "members",
    "record_name": "type",
}


def main(facts: Path, data_dir: str) -> None:
    """Append the rows of each file, which is named NUMBER.BATCH.TABLE.arrow, in the order of the numbers."""
    storage = new_storage(data_dir)
    for path in sorted(facts.glob("*.arrow")):
        _, batch, name, _ = path.name.split(".")
        table = TABLES[name]
        with pa.ipc.open_file(path) as file:
            rows = file.read_all()
        schema = table.arrow()
        known_names = [name if name in schema.names else _OLD_NAMES.get(name, name) for name in rows.column_names]
        rows = rows.rename_columns(known_names).select(schema.names).cast(schema)
        with storage.writer(batch) as writer:
            for part in rows.to_batches():
                writer.write(table, part)
            new_files = writer.close()
        storage.append(new_files)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
