"""The statement by which a catalog of Spark registers a table."""

from __future__ import annotations

from kafka_groups.pipeline.tables.table import Table


def create_statement(table: Table, location: str) -> str:
    """Return the CREATE TABLE statement for a catalog (Unity Catalog, Glue, Hive) of a table at its location."""
    columns = table.ddl(",\n  ")
    quoted = location.replace("'", "\\'")
    return (
        f"CREATE TABLE IF NOT EXISTS {table.name} (\n  {columns}\n)\n"
        f"USING DELTA\nPARTITIONED BY (`date`)\nLOCATION '{quoted}';"
    )
