"""The benchmark: this tool beside three others, on real brokers, in one run.

    python -m tests.bench                 lists and describes 1,000 and 10,000 groups, resets and deletes 1,000
                                          (`make bench`)
    python -m tests.bench --large         describes 65,000 groups (`make bench-large`)
    python -m tests.bench.request_sizes   for how long one request blocks a broker, by its size

Its files:
    __main__.py        starts the brokers, runs the scenarios one after the other, prints the report
    cluster.py         three brokers for the run, and their groups
    scenarios.py       commands, numbers of groups, and whether a round trip is added
    workload.py        the topic and the groups; the sums of their rows
    programs.py        the programs that are compared, and how their output is read
    change_programs.py the programs that reset and delete groups, and the state that they must leave
    confluent_kafka_script.py, kafka_python_script.py   two of them
    measurement.py     runs a program: wall time, peak memory; stopwatch.py is the process that starts it
    proxy_process.py   counts requests and adds a round trip, with the process proxy.py; frames.py is its pure part
    connection.py      one blocking connection to a broker, for commits and for requests that are timed
    report.py          tables and targets
"""
