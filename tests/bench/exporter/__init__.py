"""The benchmark of the exporter: scrapes of the same brokers by this tool, kminion and kafka_exporter, in turns.

    python -m tests.bench.exporter                             ours alone (`make bench-exporter`)
    python -m tests.bench.exporter --kminion PATH --kafka-exporter PATH
    python -m tests.bench.exporter.soak --minutes 30           one exporter for a long time, brokers restart at the end

Both others build with Go from their sources. Its files:
    __main__.py         starts brokers and exporters, scrapes them in turns, prints the report
    contenders.py       the exporters: their commands, and the series that a complete scrape has
    scrapes.py          one scrape: wall time, processor time of all threads, bytes; the peak memory of a process
    moving_commits.py   a process that commits new offsets all the time
    scrape_table.py     the tables, ratios and targets
    soak.py             memory, sockets and threads over time
"""
