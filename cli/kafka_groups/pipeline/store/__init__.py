"""The tables in their directory: Delta Lake, whose log says which Parquet files are a table.

`open_storage` returns them; `new_writer` is what tasks on other machines write with.
"""

from kafka_groups.pipeline.store.layout import DataFile, NewFile
from kafka_groups.pipeline.store.parquet_files import new_writer
from kafka_groups.pipeline.store.storage import Queries, Row, Storage, open_storage

__all__ = ["DataFile", "NewFile", "Queries", "Row", "Storage", "new_writer", "open_storage"]
