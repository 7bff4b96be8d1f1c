"""What has to be there before Delta tables can be used."""

from __future__ import annotations

from importlib.util import find_spec

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.storage.places import Place


def check_delta(place: Place) -> None:
    """StorageError if deltalake is not installed, or if the directory is not on a local file system."""
    if find_spec("deltalake") is None:
        message = (
            f"Delta tables, as in {place.into}, need deltalake, which is not installed; "
            "try pip install 'kafka-groups[delta]'"
        )
        raise StorageError(message)
    if not place.local:
        message = (
            f"Delta tables need a local or mounted file system, and {place.into} is neither; "
            "name another directory, or use the format parquet"
        )
        raise StorageError(message)
