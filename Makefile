# Two commands do everything on a fresh machine with Python 3.11+ and make:
#   make demo    run the main job on generated data
#   make test    run the tests
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test lint format bench docs slow loops clean

demo: $(READY) loops
	$(BIN)/lgan demo

test: $(READY) loops
	$(BIN)/python -m pytest

slow: $(READY) loops
	$(BIN)/python -m pytest -m "slow or not slow"

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY) loops
	$(BIN)/lgan bench

# Tables of the documents, from the records in results/.
docs: $(READY)
	$(BIN)/python docs/tables.py

# Numba keeps a compiled loop until its own file changes, and misses changes in loops it calls:
# forget all that are older than the newest file of loops.
loops:
	@newest=$$(ls -t src/lgan/*/*numba*.py | head -n 1); \
	find src -name '*.nb[ic]' ! -newer "$$newest" -delete

# Set up once; again only when the requirements change.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	@touch $(READY)

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .mypy_cache
