# Needs GNU make and Python 3.11 or newer; everything else comes with `make setup`.
PYTHON ?= python3
UV ?= uv
# Tests wait for processes and pauses as much as they work, so there are more of them than cores.
PYTEST ?= -n 6 --dist worksteal
BIN := .venv/bin
COMPILE = $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --custom-compile-command "make lock" $(UPGRADE)

# Where Python may not keep what it has compiled, every process compiles all its libraries again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help run test check shots bench eval chaos fuzz reference client extras setup setup-dev lock

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 11

run: setup ## start docmill on this machine, with a database of its own
	@$(BIN)/docmill serve

test: setup-dev ## all tests; PYTEST="-n 0 -k name" to choose
	@$(BIN)/python -m pytest $(PYTEST)

check: setup-dev ## format, lint, layers, types
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/lint-imports
	@$(BIN)/basedpyright

shots: setup-dev ## pictures of every page in every state, in shots/index.html
	@$(BIN)/python -m pytest -n 0 tests/browser/shots.py tests/browser/review_shots.py

bench: setup-dev ## measure speed, and compare with other queues
	@$(BIN)/python -m bench.table
	@$(BIN)/python -m bench.admin

eval: setup-dev ## measure how well documents are read
	@$(BIN)/python -m eval.table

chaos: setup-dev ## kill workers, the database and any process, and count what is lost
	@$(BIN)/python -m bench.chaos
	@$(BIN)/python -m bench.frozen --rounds 50
	@$(BIN)/python -m bench.havoc
	@$(BIN)/python -m bench.webhooks
	@PYTHONPATH=tests $(BIN)/python -m bench.team --documents 300
	@$(BIN)/python -m bench.batch
	@$(BIN)/python -m bench.sweep
	@$(BIN)/python -m bench.sweep --documents 600 --kills 8 --control forget
	@$(BIN)/python -m bench.alerts

fuzz: setup-dev ## feed mutated documents and strange layouts to every pipeline, odd requests to the API, and try properties longer
	@$(BIN)/python -m bench.fuzz
	@$(BIN)/python -m bench.layouts_fuzz
	@$(BIN)/python -m bench.contract
	@PROPERTY_EXAMPLES=100 $(BIN)/python -m pytest $(PYTEST) tests/properties

reference: setup ## write docs/reference again from the code
	@$(BIN)/python scripts/reference.py

client: setup ## the wheel of docmill-client, in dist/
	@cd client && ../$(BIN)/python -m hatchling build -t wheel -d ../dist

extras: ## also what is optional: S3, GCS, Azure, Redis, Parquet, traces, checks of e-invoices
	@$(PYTHON) scripts/setup.py --extras

setup: ## make .venv from requirements.lock
	@$(PYTHON) scripts/setup.py

setup-dev:
	@$(PYTHON) scripts/setup.py --dev

lock: ## pin again after a change in pyproject.toml; UPGRADE=--upgrade for newer versions
	@command -v $(UV) >/dev/null || { echo "make lock needs uv: pip install uv, or UV=path"; exit 1; }
	@$(COMPILE) pyproject.toml --extra ocr --group build -o requirements.lock >/dev/null
	@$(COMPILE) --no-deps --no-header requirements-models.in -o src/docmill/processes/models.lock >/dev/null
	@cat src/docmill/processes/models.lock >> requirements.lock
	@$(COMPILE) pyproject.toml --extra ocr --extra einvoice --extra s3 --extra gcs --extra azure --extra azure-reader --extra otel --extra redis --group build -c requirements.lock -o deploy/requirements.lock >/dev/null
	@cat src/docmill/processes/models.lock >> deploy/requirements.lock
	@$(COMPILE) pyproject.toml --extra einvoice --extra s3 --extra gcs --extra azure --extra azure-reader --extra otel --extra redis --extra batch --group dev --group bench -c requirements.lock -o requirements-dev.lock >/dev/null
	@$(COMPILE) pyproject.toml --extra ocr --extra einvoice --extra s3 --extra gcs --extra azure --extra azure-reader --extra otel --extra redis --extra batch --group build -c requirements.lock -c requirements-dev.lock -o requirements-extras.lock >/dev/null
	@$(COMPILE) --group engines -c requirements.lock -c requirements-dev.lock -o requirements-engines.lock >/dev/null
	@if grep -nE '://|^ *--(extra-)?index|^ *--find' requirements.lock requirements-dev.lock requirements-extras.lock requirements-engines.lock deploy/requirements.lock; then \
		echo "a lock names a registry"; exit 1; fi
