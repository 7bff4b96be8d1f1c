"""The commands, a module each, which `kafka_groups.cli` imports when they run."""
