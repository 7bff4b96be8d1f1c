"""Pure functions over the facts of one key: numpy, Arrow and plain Python, without Spark."""
