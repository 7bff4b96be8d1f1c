"""The checks of `kafka-groups check`: of connections, and of the rights of the user.

`admin` collects the evidence; the functions here turn it into rows. They are pure, except `find_rights`, which requests
descriptions. The doctor of the pipeline uses the same rows.
"""
