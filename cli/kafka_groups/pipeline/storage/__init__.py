"""The tables in their directory: Parquet files that appear whole, once, and under the name of what wrote them.

`open_storage` and `check_storage` are the doors; `staging` is what workers write with.
"""

from kafka_groups.pipeline.storage.checkpoints import Checkpoint
from kafka_groups.pipeline.storage.formats import DataFile
from kafka_groups.pipeline.storage.layout import KEPT, BatchDirectory
from kafka_groups.pipeline.storage.spark_tables import files_changed
from kafka_groups.pipeline.storage.storage import Storage, check_storage, open_storage

__all__ = [
    "KEPT",
    "BatchDirectory",
    "Checkpoint",
    "DataFile",
    "Storage",
    "check_storage",
    "files_changed",
    "open_storage",
]
