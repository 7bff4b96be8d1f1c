"""The tables in their directory: Parquet files that appear whole, once, and under the name of what wrote them.

`open_storage` is the door; `staging` is what workers write with.
"""

from kafka_groups.pipeline.storage.checkpoints import Checkpoint
from kafka_groups.pipeline.storage.layout import BatchDirectory
from kafka_groups.pipeline.storage.spark_tables import files_changed
from kafka_groups.pipeline.storage.storage import Storage, open_storage

__all__ = ["BatchDirectory", "Checkpoint", "Storage", "files_changed", "open_storage"]
