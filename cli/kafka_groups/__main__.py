"""`python -m kafka_groups`."""

from kafka_groups.cli import main

if __name__ == "__main__":
    main()
