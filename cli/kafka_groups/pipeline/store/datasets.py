"""Data files of one table as one Arrow dataset."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.dataset as ds

from kafka_groups.pipeline.store.data_files import DataFile
from kafka_groups.pipeline.store.root_directory import RootDirectory, as_storage_error


def open_dataset(directory: RootDirectory, files: Sequence[DataFile]) -> ds.Dataset:
    """Return the files (at least one) as a dataset whose rows are in the order of the files.

    The dataset has all columns of all files, including columns that this version does not know. A column is null in the
    rows of a file that lacks it. Raises StorageError for a file that is not Parquet.
    """
    with as_storage_error("read the tables", directory.location):
        paths = [file.path for file in files]
        parquet_format = ds.ParquetFileFormat()
        # pyarrow 18 itself cannot unify the schemas of files with different columns.
        schemas = [parquet_format.inspect(path, directory.fs) for path in paths]
        dataset_factory = ds.FileSystemDatasetFactory(directory.fs, paths, parquet_format)
        return dataset_factory.finish(pa.unify_schemas(schemas, promote_options="permissive"))
