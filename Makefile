# Penstock: two commands are enough: `make run` and `make test`.
# Everything is installed into .venv; nothing outside this folder is touched.

SHELL := /bin/bash
VENV  := .venv
BIN   := $(VENV)/bin
ARGS  ?=

# Some images forbid bytecode. Hundreds of processes start in a run of the tests: each would compile everything anew.
unexport PYTHONDONTWRITEBYTECODE
CORES := $(shell getconf _NPROCESSORS_ONLN)
PROCESSES := $(shell n=$(CORES); echo $$((n < 3 ? 2 * n : n < 6 ? n + 2 : 6)))
SHARED_OUT := -p tests.support.costs -p tests.support.sharing_out \
              -n $(PROCESSES) --dist loadfile --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help setup run check test test-full lint format types unit unit-full quick bench record-goldens fuzz-records mutants docs screenshots dist clean

help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  \033[36mmake %-8s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/.dev ## Build .venv with all that users and developers need

$(VENV)/.runtime: pyproject.toml tools/setup.sh
	@tools/setup.sh runtime

$(VENV)/.dev: pyproject.toml tools/setup.sh
	@tools/setup.sh dev

run: $(VENV)/.runtime ## Start a worker with a live example pipeline, API on http://localhost:8083
	@exec $(BIN)/penstock run $(ARGS)

check: lint types quick ## Style, types and the tests that start no process: under two minutes

test: lint types unit ## Style, types and tests (ARGS="-k name" narrows the tests, ARGS=-n0 runs one at a time)

test-full: lint types unit-full ## As test, and what is the same again in another setting: before a release

lint: $(VENV)/.dev ## Check style
	@$(BIN)/ruff check .

types: $(VENV)/.dev ## Check types
	@$(BIN)/mypy

quick: $(VENV)/.dev
	@$(BIN)/python -m pytest -m "not integration" -n $(CORES) -q $(ARGS)

unit: $(VENV)/.dev ## Run the tests only
	@$(BIN)/python -m pytest $(SHARED_OUT) -m "not full" $(ARGS)

unit-full: $(VENV)/.dev
	@$(BIN)/python -m pytest $(SHARED_OUT) $(ARGS)

format: $(VENV)/.dev ## Mend style where a tool can
	@$(BIN)/ruff check --fix . && $(BIN)/ruff format .

bench: $(VENV)/.dev ## Measure us and Kafka Connect on the same work (ARGS="--no-peer", "--only latency")
	@$(BIN)/python -m bench $(ARGS)

record-goldens: $(VENV)/.dev ## Observe the record cases again on Kafka's own classes (ARGS=--check compares only)
	@$(BIN)/python tools/records/observe.py $(ARGS)

fuzz-records: $(VENV)/.dev ## Look for records that differ from Kafka Connect's (ARGS="--seed 7 --cases 5000 --only Cast")
	@$(BIN)/python tools/records/fuzz.py $(ARGS)

mutants: $(VENV)/.dev ## Break what must not fail silently, and list the faults that no test notices (ARGS="--only hooks", "--list", "--help")
	@$(BIN)/python tools/mutants/run.py $(ARGS)

docs: $(VENV)/.dev ## Write docs/reference from the code, and the site to build/site
	@$(BIN)/python docs/generate.py
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "wrote build/site (to read and search it: python3 -m http.server -d build/site)"

screenshots: $(VENV)/.dev ## Take the pictures of the web page anew
	@$(BIN)/python docs/screenshots.py

dist: $(VENV)/.dev ## Build the wheel and the source distribution into dist/, and check them
	@rm -rf dist
	@$(BIN)/python -m build --outdir dist .
	@$(BIN)/python -m twine check --strict dist/*

clean: ## Remove .venv, caches and the example's data
	@rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .schemathesis penstock-data spark-warehouse
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
