"""The tables in their directory: Delta Lake, whose log says which Parquet files are a table.

`open_storage` and `check_storage` are the doors; `staging` is what workers write with.
"""

from kafka_groups.pipeline.storage.data_file import DataFile
from kafka_groups.pipeline.storage.layout import KEPT, BatchDirectory
from kafka_groups.pipeline.storage.storage import Storage, check_storage, open_storage

__all__ = [
    "KEPT",
    "BatchDirectory",
    "DataFile",
    "Storage",
    "check_storage",
    "open_storage",
]
