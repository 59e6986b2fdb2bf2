# Every target sets up what it needs in .venv; a second call finds it done.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
# Tests wait for processes of theirs half of the time, so there are more workers than cores.
WORKERS ?= 3
ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--custom-compile-command "make requirements"

export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1
export PYRIGHT_PYTHON_GLOBAL_NODE := 0

.DEFAULT_GOAL := help
.PHONY: help demo test check bench requirements

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.run ## run a whole agent session on the embedded parts, then check what was stored
	$(BIN)/runlane demo $(ARGS)

test: $(VENV)/.test ## run every test; those on a real Kafka need Java and Maven
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

check: $(VENV)/.lint ## lint, types, layers and the fast tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/pyright
	$(BIN)/python -m pytest -n $(WORKERS) -m "not slow and not kafka" $(ARGS)

bench: $(VENV)/.run ## measure, on a real Kafka; the last line is JSON
	$(BIN)/python -m bench $(ARGS)

requirements: $(VENV)/.lint ## pin the dependencies of pyproject.toml with their hashes (ARGS=--upgrade for newer ones)
	$(COMPILE) $(ARGS) pyproject.toml --extra all --group test -o requirements/test.txt
	$(COMPILE) $(ARGS) pyproject.toml --extra all -c requirements/test.txt -o requirements/all.txt
	$(COMPILE) $(ARGS) pyproject.toml -c requirements/test.txt -o requirements/client.txt
	$(COMPILE) $(ARGS) --group lint -c requirements/test.txt -o requirements/lint.txt
	$(COMPILE) $(ARGS) --group build -c requirements/test.txt -o requirements/build.txt

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Runlane needs Python 3.11 or later")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: requirements/all.txt requirements/build.txt pyproject.toml | $(BIN)/python
	$(INSTALL) -r requirements/all.txt -r requirements/build.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.test: requirements/test.txt $(VENV)/.run
	$(INSTALL) -r requirements/test.txt
	@touch $@

$(VENV)/.lint: requirements/lint.txt $(VENV)/.test
	$(INSTALL) -r requirements/lint.txt
	@touch $@
