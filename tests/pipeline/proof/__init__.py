"""The derived tables and the report of this code against those of the last commit before the redesign.

`make proof-pipeline` runs it; `__main__.py` describes how to run it with other seeds. Tests of builds use its facts.
"""

from tests.pipeline.proof.random_facts import DERIVED, facts_of, rows_of

__all__ = ["DERIVED", "facts_of", "rows_of"]
