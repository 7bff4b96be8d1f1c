"""The specifications of `reset`: sources of new offsets."""
