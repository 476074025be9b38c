# Two commands do everything on a fresh machine with Python 3.11+ and make:
#   make demo    run the main job on generated data
#   make test    run the tests
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test lint format bench docs site slow clean

demo: $(READY)
	$(BIN)/lgan demo

test: $(READY)
	$(BIN)/python -m pytest -n 2 --dist loadfile

slow: $(READY)
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "slow or not slow"

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY)
	$(BIN)/lgan bench

# Tables and pictures of the documents, from the records in results/.
docs: $(READY)
	$(BIN)/python docs/tables.py
	$(BIN)/python -m docs.drawings

# The documentation as a site, in site/; a broken link or a name without description fails.
site: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# Set up once; again only when the requirements change.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	@touch $(READY)

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .mypy_cache
