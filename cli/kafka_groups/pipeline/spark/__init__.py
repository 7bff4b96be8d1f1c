"""A Spark session for a command or a program, without any output on its streams.

session.py          start a session, here or on a server, and stop it in any case
requirements.py     checks of the packages, Java and servers that a session needs
connect_retries.py  the retries of Spark Connect's client
output.py           the log file that gets the output of Spark's processes
spark_errors.py     the errors of Spark as errors of this package
"""
