"""The exporter: polls of clusters, their samples as text, and the HTTP server that Prometheus scrapes."""
