# Needs Python 3.11 or newer and make; everything else is installed by make. `make demo` shows the tool, `make test` tests it.
PYTHON ?= python3
BIN := .venv/bin
# With KERBEROS=1 the tests also run against a KDC: they need a compiler and Debian's packages of .ci/run.
KERBEROS ?=
READY := .venv/.ready $(if $(filter 1,$(KERBEROS)),.venv/.kerberos)

SPARK_4_2 := .venv-spark-4.2

# Tests start this program hundreds of times: its modules are compiled once, whatever the environment says.
export PYTHONDONTWRITEBYTECODE :=

# Processes that run tests at the same time. Half of the tests against brokers wait, so two keep two cores busy.
WORKERS ?= 2

.PHONY: help demo demo-pipeline unit test mutation test-spark-4.2 check format generated bench bench-exporter bench-large bench-pipeline proof-access proof-causes proof-changes proof-exporter proof-kinds proof-pipeline lock clean

help:
	@echo "make demo         a sandbox with a real Kafka, and a tour of the tool on it"
	@echo "make demo-pipeline  the same for the pipeline: history of groups, lag in time, a report"
	@echo "make unit         the tests that need no broker and no Spark, in $(WORKERS) processes, without slow ones"
	@echo "make test         all tests, those against real brokers included, on Spark 4.3"
	@echo "KERBEROS=1 make test  also those against a KDC, which need a compiler and the packages of .ci/run"
	@echo "make test-spark-4.2  the tests of the pipeline on Spark 4.2"
	@echo "make mutation     100 random faults in the core, and how many of them the unit tests notice; an hour"
	@echo "make check        format, lint, types, import rules, wording and generated files"
	@echo "make generated    write the completion scripts and the man pages, from the help of the commands"
	@echo "make bench        the measurements of the README; make bench-large uses 65,000 groups"
	@echo "make bench-pipeline  the measurements of the pipeline, with 4 million records"
	@echo "make bench-exporter KMINION=PATH KAFKA_EXPORTER=PATH  scrapes of 10,000 groups, beside kminion and kafka_exporter if they have paths"
	@echo "make proof-access  every way to log in, its failures and sessions that end, on real brokers, repeated ten times"
	@echo "make proof-causes  what why finds in incidents on a real broker, and in healthy groups, three variants of each; half an hour"
	@echo "make proof-changes  what undo promises, on real brokers under faults, which are repeated ten times; ten minutes"
	@echo "make proof-exporter  a real Prometheus, its alerts, and clusters that fail, repeated ten times"
	@echo "make proof-kinds  what describe shows of real share, streams and Connect groups, against Kafka's own tools, repeated ten times"
	@echo "make proof-pipeline  the derived tables against those of commit cd93aa5, on 200 random histories, and against an oracle, on 40 simulated clusters; 40 kills a storage"

demo: $(READY)
	$(BIN)/kafka-groups sandbox demo --port 0

demo-pipeline: $(READY)
	$(BIN)/kafka-groups sandbox demo --port 0 --data-dir demo-tables

unit: $(READY)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

# Tests that measure time run alone, after the others, also if some of those failed. pytest returns 1 if tests failed,
# 5 if there were none, and anything else but 0 if the run itself ended early.
test: $(READY)
	@$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup --no-loadscope-reorder -m "not timed"; first=$$?; \
	case $$first in 0|1|5) ;; *) exit $$first ;; esac; \
	$(BIN)/python -m pytest -m timed; second=$$?; \
	case $$second in 0|5) test $$first -ne 1 ;; *) exit $$second ;; esac

mutation: $(READY)
	$(BIN)/python -m tests.mutation

test-spark-4.2: $(SPARK_4_2)/.ready
	$(SPARK_4_2)/bin/python -m pytest -m "" tests/pipeline tests/live/pipeline

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q tests/contracts/test_wording.py tests/contracts/test_generated_files.py

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

generated: $(READY)
	$(BIN)/python -m tools.generated_files

bench: $(READY)
	$(BIN)/python -m tests.bench

bench-large: $(READY)
	$(BIN)/python -m tests.bench --large

bench-pipeline: $(READY)
	$(BIN)/python -m tests.bench.pipeline

# Both others are built with Go from their sources; without a path one is not measured.
bench-exporter: $(READY)
	$(BIN)/python -m tests.bench.exporter $(if $(KMINION),--kminion $(KMINION)) \
	    $(if $(KAFKA_EXPORTER),--kafka-exporter $(KAFKA_EXPORTER))

proof-changes: $(READY)
	PROOF_REPETITIONS=10 $(BIN)/python -m pytest -m "" tests/live/test_changes_proof.py

proof-access: $(READY)
	PROOF_REPETITIONS=10 $(BIN)/python -m pytest -m "" tests/live/test_logins.py tests/live/test_login_failures.py tests/live/test_sessions.py tests/live/pipeline/test_logins_of_ingest.py

proof-exporter: $(READY)
	PROOF_REPETITIONS=10 $(BIN)/python -m pytest -m "" tests/live/exporter \
	    tests/exporter/test_ten_clusters.py tests/exporter/test_vanishing_groups.py

proof-causes: $(READY)
	$(BIN)/python -m tests.live.incidents.proof

proof-kinds: $(READY)
	PROOF_REPETITIONS=10 $(BIN)/python -m pytest -m "" tests/live/test_kinds_proof.py tests/live/test_describe_kinds.py

proof-pipeline: $(READY)
	$(BIN)/python -m tests.pipeline.proof
	$(BIN)/python -m tests.pipeline.oracle
	$(BIN)/python -m tests.pipeline.kills

# Versions and hashes of everything that development and CI install; users get the lower bounds of pyproject.toml.
lock: $(READY)
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	    --no-emit-find-links --no-annotate --no-header --extra dev --no-emit-package kafka-groups pyproject.toml \
	    -o requirements-dev.txt
	echo 'pyspark[connect]==4.2.0' > .venv/spark-4.2.txt
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	    --no-emit-find-links --no-annotate --no-header --extra dev --no-emit-package kafka-groups pyproject.toml \
	    --override .venv/spark-4.2.txt -o requirements-spark-4.2.txt
	echo 'gssapi==1.12.0' | $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	    --no-emit-index-url --no-emit-find-links --no-annotate --no-header - -o requirements-kerberos.txt
	echo 'Cython==3.3.0 setuptools' | tr ' ' '\n' | $(BIN)/uv pip compile --quiet --universal --python-version 3.11 \
	    --generate-hashes --no-emit-index-url --no-emit-find-links --no-annotate --no-header - \
	    -o requirements-kerberos-build.txt

clean:
	rm -rf .venv $(SPARK_4_2)

.venv/.ready: requirements-dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "Python 3.11 or newer is needed; choose one with PYTHON=python3.12 make $(MAKECMDGOALS)" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

# The library of Kerberos is compiled here, by tools whose hashes are checked, too.
.venv/.kerberos: requirements-kerberos-build.txt requirements-kerberos.txt .venv/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-kerberos-build.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-build-isolation \
	    -r requirements-kerberos.txt
	@touch $@

$(SPARK_4_2)/.ready: requirements-spark-4.2.txt pyproject.toml
	$(PYTHON) -m venv $(SPARK_4_2)
	$(SPARK_4_2)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-spark-4.2.txt
	$(SPARK_4_2)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@
