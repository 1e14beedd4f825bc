# `make help` lists the commands. Each installs what it needs in .venv on its first run.
#
# PYTHON=python3.12  use another Python, with its own environment (.venv-python3.12)
# WORKERS=0          run the tests in one process (default: one per core)
# ARGS="-k area"     additional arguments of pytest or of the benchmarks

PYTHON ?= $(firstword $(foreach name,python3 python3.11 python3.12 python3.13 python3.14,$(shell \
	$(name) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $(name))))
VENV ?= .venv$(if $(filter-out file,$(origin PYTHON)),-$(notdir $(PYTHON)))
WORKERS ?= auto
ARGS ?=

BIN := $(VENV)/bin
INSTALL := $(BIN)/uv pip install --quiet --python $(BIN)/python
READY := $(VENV)/pyproject.installed
# Each worker begins with a part of the files; one that has finished takes tests from the others.
PYTEST_OPTIONS := -n $(WORKERS) --dist worksteal
PYTEST := $(BIN)/python -m pytest $(PYTEST_OPTIONS)

# Compiled modules are written, so that later runs and the workers of one run need not compile them.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo test check format lint types laws notebooks spark browser docs dist bench oldest clean distclean

help: ## list the commands
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | expand -t 12

# The environment is created once. The dependencies are installed again only if the content of
# pyproject.toml differs from the copy in the environment: a new timestamp alone has no effect.
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

setup: $(READY) ## create the environment

demo: $(READY) ## evaluate the bundled log: tables and a page with charts in demo/
	@$(BIN)/rocframe evaluate data/vote.parquet --label label --score score --by model --id id --out demo

# There is a worker for each core, so polars uses one thread in each. `make laws` uses all threads.
test: $(READY) ## run the tests except slow ones and those of `make browser` and `make spark`, with most examples of the docs
	@POLARS_MAX_THREADS=1 $(PYTEST) -m "not render and not slow and not spark and not notebook" $(ARGS)

check: test lint types docs dist laws oldest notebooks spark browser ## run everything that CI runs

format: $(READY) ## format the code
	@$(BIN)/ruff check --quiet --fix-only .
	@$(BIN)/ruff format .

lint: $(READY) ## check format and style, without changes
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .

types: $(READY) ## check the types of the package (mypy, strict)
	@$(BIN)/mypy

laws: $(READY) ## run the slow tests, and the property-based tests with twice as many examples
	@$(PYTEST) tests -m "hypothesis or slow" --hypothesis-profile=thorough $(ARGS)

notebooks: $(READY) ## run the notebooks of the documentation
	@$(INSTALL) --group notebooks
	@$(BIN)/python -m pytest tests/test_notebooks.py -n 0 $(ARGS)

# PySpark is large and is built from its sdist, so only this command installs it. Its wheel is not
# compressed, which takes half of the time. The second run uses Spark Connect.
spark: $(READY) ## test compress with Spark in local mode (required under CI; needs Java)
	@if command -v java >/dev/null || [ -n "$$JAVA_HOME" ]; then \
		$(INSTALL) --group spark \
			--config-settings-package pyspark:--build-option=--compression=stored && \
		$(BIN)/python -m pytest tests/compression -m spark $(ARGS) && \
		SPARK_REMOTE="local[2]" $(BIN)/python -m pytest tests/compression -m spark -k "cells and (Boolean or relative)" $(ARGS); \
	elif [ -n "$$CI" ]; then echo "Java is not installed" >&2; exit 1; \
	else echo "Spark tests skipped: Java is not installed."; fi

# Exit code 5 of pytest means that no test was selected.
browser: $(READY) ## run the tests that draw many charts, and those in chromium (required under CI)
	@$(PYTEST) tests -m render $(ARGS) || [ $$? -eq 5 ]
	@if command -v chromium >/dev/null; then \
		[ ! -d tests/browser ] || $(PYTEST) tests/browser $(ARGS) || [ $$? -eq 5 ]; \
	elif [ -n "$$CI" ]; then echo "chromium is not installed" >&2; exit 1; \
	else echo "Browser tests skipped: chromium is not installed."; fi

docs: $(READY) ## build the documentation in docs/_build/html, and check its links
	@rm -rf docs/api docs/_build
	@$(BIN)/sphinx-build -q -n -W --keep-going -d docs/_build/doctrees docs docs/_build/html
	@$(BIN)/python tests/check_docs.py docs/_build/html
	@echo "Documentation: docs/_build/html/index.html"

# The wheel is built from the sdist and tested in an empty environment, then with the extra. The
# packages are usually in the cache of uv, so it first installs without a network.
dist: $(READY) ## build wheel and sdist, check their files, install and use the wheel
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

bench: $(READY) ## run the benchmarks (minutes), with ARGS
	@$(INSTALL) --group bench
	@$(BIN)/python -m bench $(ARGS)

# These tests use all libraries that rocframe needs. `make oldest OLDEST=` runs the whole suite.
OLDEST ?= tests/test_laws.py tests/test_lazy.py tests/test_storage.py tests/curves tests/areas \
	tests/probabilities tests/charts/test_all_charts.py tests/charts/test_plan_chart.py tests/bands \
	tests/test_cli.py

oldest: | $(VENV)/made ## run important tests with the lowest versions of the dependencies
	@[ -d $(VENV)-oldest ] || $(BIN)/uv venv --quiet --python $(BIN)/python $(VENV)-oldest
	@$(BIN)/uv pip install --quiet --python $(VENV)-oldest/bin/python --resolution lowest-direct \
		--editable . --group test
	@POLARS_MAX_THREADS=1 $(VENV)-oldest/bin/python -m pytest $(PYTEST_OPTIONS) -m "not slow and not hypothesis" $(OLDEST) $(ARGS)

clean: ## remove build products, but not the environments
	@rm -rf build demo docs/_build docs/api .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks
	@find rocframe tests bench data docs -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean ## remove build products and environments
	@rm -rf .venv .venv-*
