"""Derived tables from facts: pure kernels, the state that one date leaves to the next, and the Spark stages."""
