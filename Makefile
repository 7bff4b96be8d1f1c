# Python 3.11 or newer and make: nothing else is installed by hand. `make demo` shows the tool, `make test` tests it.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: help demo test check format bench bench-large lock clean

help:
	@echo "make demo         a sandbox with a real Kafka, and a tour of the tool on it"
	@echo "make test         all tests, those against real brokers included"
	@echo "make check        format, lint, types and import rules"
	@echo "make bench        the measurements of the README; make bench-large takes 65,000 groups"

demo: $(READY)
	$(BIN)/kafka-groups sandbox demo --port 0

test: $(READY)
	$(BIN)/python -m pytest

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY)
	$(BIN)/python -m tests.bench

bench-large: $(READY)
	$(BIN)/python -m tests.bench --large

# Versions and hashes of everything that development and CI install; users get the lower bounds of pyproject.toml.
lock: $(READY)
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	    --no-emit-find-links --no-annotate --no-header --extra dev --no-emit-package kafka-groups pyproject.toml \
	    -o requirements-dev.txt

clean:
	rm -rf .venv

$(READY): requirements-dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "Python 3.11 or newer is needed; say which with PYTHON=python3.12 make $(MAKECMDGOALS)" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@
