"""What stands in the way of the pipeline, on one broker that knows users."""
