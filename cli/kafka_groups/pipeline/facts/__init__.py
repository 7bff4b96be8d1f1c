"""Facts: data that ingest, sample and backfill read from brokers and write into tables."""
