# Penstock: two commands are enough: `make run` and `make test`.
# Everything is installed into .venv; nothing outside this folder is touched.

SHELL := /bin/bash
VENV  := .venv
BIN   := $(VENV)/bin
ARGS  ?=
SHARED_OUT := -p tests.support.sharing_out -n logical --maxprocesses 4 --dist loadfile --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help setup run test lint format types unit bench record-goldens fuzz-records docs screenshots clean

help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  \033[36mmake %-8s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/.dev ## Build .venv with all that users and developers need

$(VENV)/.runtime: pyproject.toml tools/setup.sh
	@tools/setup.sh runtime

$(VENV)/.dev: pyproject.toml tools/setup.sh
	@tools/setup.sh dev

run: $(VENV)/.runtime ## Start a worker with a live example pipeline, API on http://localhost:8083
	@exec $(BIN)/penstock run $(ARGS)

test: lint types unit ## Style, types and all tests (ARGS="-k name" narrows the tests, ARGS=-n0 runs one at a time)

lint: $(VENV)/.dev ## Check style
	@$(BIN)/ruff check .

types: $(VENV)/.dev ## Check types
	@$(BIN)/mypy

unit: $(VENV)/.dev ## Run the tests only
	@$(BIN)/python -m pytest $(SHARED_OUT) $(ARGS)

format: $(VENV)/.dev ## Mend style where a tool can
	@$(BIN)/ruff check --fix . && $(BIN)/ruff format .

bench: $(VENV)/.dev ## Measure us and Kafka Connect on the same work (ARGS="--no-peer", "--only latency")
	@$(BIN)/python -m bench $(ARGS)

record-goldens: $(VENV)/.dev ## Observe the record cases again on Kafka's own classes (ARGS=--check compares only)
	@$(BIN)/python tools/records/observe.py $(ARGS)

fuzz-records: $(VENV)/.dev ## Look for records that differ from Kafka Connect's (ARGS="--seed 7 --cases 5000 --only Cast")
	@$(BIN)/python tools/records/fuzz.py $(ARGS)

docs: $(VENV)/.dev ## Write docs/reference from the code, and the site to build/site
	@$(BIN)/python docs/generate.py
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "wrote build/site (to read and search it: python3 -m http.server -d build/site)"

screenshots: $(VENV)/.dev ## Take the pictures of the web page anew
	@$(BIN)/python docs/screenshots.py

clean: ## Remove .venv, caches and the example's data
	@rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .schemathesis penstock-data spark-warehouse
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
