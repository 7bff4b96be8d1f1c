"""The store: tables in a data directory, in the format Delta Lake. The log of a table names its Parquet files.

`open_storage` returns all tables of a directory, `Queries` runs SQL on them, and `new_writer` returns a writer of new
files for tasks on other machines.

storage.py           all tables of a directory: reading lists of files, committing new files, locks, metadata
root_directory.py    the directory, on this machine or in an object store
marker.py            the file that marks a directory as a data directory
metadata_files.py    small states that commands keep between runs
data_files.py        a Parquet file of a table, lists of files as rows, names of batches
delta_log.py         the log of one table: its files, versions, commits
parquet_writer.py    new rows in new files, by date
parquet_sorting.py   rows of several files in new, sorted files
datasets.py          several files as one Arrow dataset
queries.py           SQL on tables without Spark
spark_tables.py      tables as DataFrames of Spark
plain_files.py       tables as plain Parquet or CSV files
compaction.py, compaction_plan.py   many small files replaced by few large ones
retention.py, last_records.py       old dates removed, except the last record of each key
progress_steps.py    how many items of a step are finished
"""

from kafka_groups.pipeline.store.data_files import DataFile, NewFile
from kafka_groups.pipeline.store.parquet_writer import new_writer
from kafka_groups.pipeline.store.queries import Queries, Row
from kafka_groups.pipeline.store.storage import Storage, open_storage

__all__ = ["DataFile", "NewFile", "Queries", "Row", "Storage", "new_writer", "open_storage"]
