"""Facts: what is read from brokers and written into tables, by ingest, sample and backfill."""
