"""What the pipeline's commands did, found or hold, drawn and as documents."""
