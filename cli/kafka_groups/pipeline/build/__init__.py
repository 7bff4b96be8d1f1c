"""The derived tables: pure kernels, and the stages in which Spark runs them."""
