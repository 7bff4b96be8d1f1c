"""The commands `kafka-groups pipeline …`: one module for each command, which has its options and its help.

command_run.py          a run of a command: streams, document, summary, early end
documents.py            summaries and errors as JSON
schemas.py              the JSON Schemas of all documents
rows.py                 rows and columns of tables, CSV and ndjson
options.py              options of several commands: --data-dir, durations
connection_settings.py  settings of a cluster connection
spark_options.py        options that choose Spark
spark_session.py        the Spark session of a command, and its log
build_engine.py         Spark or this process, for a build
sample_clusters.py      samples of several clusters
report_request.py       which groups a report reads and shows
report_output.py        the output of a report
page_file.py            the file of --html
tables_output.py        the output of `tables`
clock.py                the time at which a command runs
"""
