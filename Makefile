# make demo, make test: these two set everything up first. `make help` names the rest.
#
# PYTHON=python3.12  another Python, in an environment of its own (.venv-python3.12)
# WORKERS=0          tests in one process; as many as there are cores otherwise
# ARGS="-k area"     more arguments for pytest, or for the benchmarks

PYTHON ?= $(firstword $(foreach name,python3 python3.11 python3.12 python3.13 python3.14,$(shell \
	$(name) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $(name))))
VENV ?= .venv$(if $(filter-out file,$(origin PYTHON)),-$(notdir $(PYTHON)))
WORKERS ?= auto
ARGS ?=

BIN := $(VENV)/bin
INSTALL := $(BIN)/uv pip install --quiet --python $(BIN)/python
READY := $(VENV)/pyproject.installed
PYTEST := $(BIN)/python -m pytest -n $(WORKERS)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo test check format lint types laws browser docs dist bench oldest clean distclean

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | expand -t 12

# The environment: made once. Then what pyproject.toml asks for: installed again only when that file
# says something else than the copy kept here, so nothing is fetched for a touched or checked-out file.
$(VENV)/made:
	@$(or $(PYTHON),false) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "rocframe needs Python 3.11 or newer: make PYTHON=path/to/python3.11 ..." >&2; exit 1; }
	@echo "Setting up $(VENV) (once) ..."
	@$(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip uv
	@touch $@

$(READY): pyproject.toml | $(VENV)/made
	@cmp -s pyproject.toml $@ || { echo "Installing rocframe and its tools in $(VENV) ..." && \
		$(INSTALL) --editable . --group test --group lint --group docs --group dist; }
	@cp pyproject.toml $@

setup: $(READY) ## the environment, if it is not there yet

demo: $(READY) ## evaluate the bundled log: tables, charts and a page in demo/
	@$(BIN)/rocframe evaluate data/vote.parquet --label label --score score --by model --out demo

test: $(READY) ## all tests but those in a browser, doctests and the examples of the docs included
	@$(PYTEST) $(ARGS)

check: test lint types docs dist laws browser ## everything CI runs

format: $(READY) ## rewrite the code as the formatter wants it
	@$(BIN)/ruff check --quiet --fix-only .
	@$(BIN)/ruff format .

lint: $(READY) ## format and lint, nothing rewritten
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .

types: $(READY) ## mypy, strict, on the package
	@$(BIN)/mypy

laws: $(READY) ## the property-based tests again, with five times as many examples
	@$(PYTEST) tests -m hypothesis --hypothesis-profile=thorough $(ARGS)

# Exit code 5 of pytest: there is no test.
browser: $(READY) ## tests in chromium, if it is there; under CI it has to be
	@if command -v chromium >/dev/null; then \
		[ ! -d tests/browser ] || $(PYTEST) tests/browser $(ARGS) || [ $$? -eq 5 ]; \
	elif [ -n "$$CI" ]; then echo "chromium is not installed" >&2; exit 1; \
	else echo "Browser tests left out: chromium is not installed."; fi

docs: $(READY) ## the site, in docs/_build/html
	@rm -rf docs/api
	@$(BIN)/sphinx-build -q -n -W --keep-going -d docs/_build/doctrees docs docs/_build/html
	@echo "The site is docs/_build/html/index.html"

# The wheel is built from the sdist, tried in an environment that has nothing else, then with the extra.
# What the set-up fetched is in uv's cache, so the first try asks nobody.
dist: $(READY) ## wheel and sdist: built, their files checked, installed and used
	@rm -rf build/dist build/venv
	@$(BIN)/uv build --quiet --no-build-isolation --python $(BIN)/python --out-dir build/dist
	@$(BIN)/python tests/check_dist.py contents build/dist
	@$(BIN)/uv venv --quiet --python $(BIN)/python build/venv
	@wheel=$$(echo build/dist/*.whl); \
	install() { $(BIN)/uv pip install --quiet --python build/venv/bin/python "$$@"; }; \
	for step in "$$wheel smoke" "$$wheel[report] command"; do set -- $$step; \
		{ install --offline "$$1" 2>/dev/null || install "$$1"; } && \
		build/venv/bin/python -I tests/check_dist.py "$$2" || exit 1; \
	done

bench: $(READY) ## the benchmarks (minutes); more arguments in ARGS
	@$(INSTALL) --group bench
	@$(BIN)/python -m bench $(ARGS)

oldest: | $(VENV)/made ## the tests with the lowest versions of the dependencies
	@[ -d $(VENV)-oldest ] || $(BIN)/uv venv --quiet --python $(BIN)/python $(VENV)-oldest
	@$(BIN)/uv pip install --quiet --python $(VENV)-oldest/bin/python --resolution lowest-direct \
		--editable . --group test
	@$(VENV)-oldest/bin/python -m pytest $(ARGS)

clean: ## remove what was built, not the environments
	@rm -rf build demo docs/_build docs/api .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks
	@find rocframe tests bench data docs -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean ## remove the environments too
	@rm -rf .venv .venv-*
