"""The benchmark: this tool beside three others, on real brokers, in one run.

    python -m tests.bench           lists and describes 1,000 and 10,000 groups (`make bench`)
    python -m tests.bench --large   describes 65,000 groups (`make bench-large`)
    python -m tests.bench.holding   how long one request holds a broker, by its size

How it goes, file by file:
    __main__.py     sandbox up, scenarios one after the other, the report, the exit code
    cluster.py      three brokers for the run, and their groups
    scenarios.py    what is asked of how many groups over which line
    fill.py         the topic and the groups; what a right answer adds up to
    contenders.py   the programs that are compared, and how their answers are read
    by_confluent.py, by_kafka_python.py   two of them
    measure.py      runs a program: wall time, peak memory; stopwatch.py is the process that starts it
    proxied.py      counts requests and adds round trip, by the process proxy.py; frames.py is its pure part
    wire.py         one blocking connection to a broker, for filling and holding
    report.py       tables and targets
"""
