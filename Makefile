PYTHON ?= python3
BIN := .venv/bin

.PHONY: lock
lock: $(BIN)/uv
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links \
	    --no-annotate --no-header --extra dev --no-emit-package kafka-groups pyproject.toml -o requirements-dev.txt
